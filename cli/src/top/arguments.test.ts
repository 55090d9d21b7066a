// Tests of arguments.ts.
import { describe, expect, it } from "vitest";

import { parseTopArguments } from "./arguments.ts";

describe("parseTopArguments()", () => {
  it("shows the rules of a control plane on this machine, by default", () => {
    expect(parseTopArguments([])).toMatchObject({
      servers: ["http://127.0.0.1:8092"],
      ...{ view: "rules", paths: [], fleet: "", once: false, format: "table", limit: 20 },
    });
  });

  it("takes paths of rules after the view", () => {
    const args = ["keys", "shop.user", "--once", "-o", "json", "--fleet", "web", "shop.plan_gold"];
    expect(parseTopArguments(args)).toMatchObject({
      ...{ view: "keys", paths: ["shop.user", "shop.plan_gold"], fleet: "web", once: true, format: "json" },
    });
  });

  it("asks the replicas of the cluster as a plugin of kubectl", () => {
    expect(parseTopArguments([], { usesCluster: true })).toMatchObject({
      servers: [],
      replicas: { namespace: "weir-system", service: "weir-control-plane-headless" },
    });
  });

  it.each([
    { args: ["shop.user"], problem: 'the view must be rules or keys, is "shop.user"; a path comes after it' },
    { args: ["-o", "yaml"], problem: 'the output must be table or json, is "yaml"' },
    { args: ["--limit", "0"], problem: 'the limit must be a number of rules, is "0"' },
    { args: ["--fleet", ""], problem: "--fleet must not be empty" },
    { args: ["-s", "ftp://x"], problem: 'a server must be like http://name:8092, is "ftp://x"' },
  ])("refuses $args", ({ args, problem }) => {
    expect(parseTopArguments(args)).toBe(problem);
  });
});
