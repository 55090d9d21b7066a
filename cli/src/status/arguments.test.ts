// Tests of the command line of `weir status`: what it means, and what is refused in which words.
import { describe, expect, it } from "vitest";

import { RATE_LIMIT_CONFIG, RATE_LIMIT_SERVICE } from "../cluster/weir-kinds.ts";
import { parseStatusArguments } from "./arguments.ts";

describe("parseStatusArguments()", () => {
  it("shows all resources of the context's namespace by default", () => {
    expect(parseStatusArguments([])).toEqual({
      cluster: { kubeconfig: undefined, context: undefined },
      resource: undefined,
      namespace: undefined,
      allNamespaces: false,
      format: "text",
    });
  });

  it("understands every flag", () => {
    const flags = ["-n", "web", "-ojson", "--kubeconfig", "config", "--context=prod", "shop"];
    expect(parseStatusArguments(flags)).toEqual({
      cluster: { kubeconfig: "config", context: "prod" },
      resource: { kind: RATE_LIMIT_CONFIG, name: "shop" },
      namespace: "web",
      allNamespaces: false,
      format: "json",
    });
    expect(parseStatusArguments(["-A", "-o=yaml"])).toMatchObject({ allNamespaces: true, format: "yaml" });
  });

  it.each(["rls/edge", "RateLimitService/edge", "ratelimitservices/edge", "ratelimitservices.ratelimit.weir.dev/edge"])(
    "knows the kind in %s, as kubectl does",
    (word) => {
      expect(parseStatusArguments([word])).toMatchObject({ resource: { kind: RATE_LIMIT_SERVICE, name: "edge" } });
    },
  );

  it.each([
    { args: ["a", "b"], problem: "one resource can be named at most, there are 2" },
    { args: ["web/"], problem: 'a resource must be NAME or KIND/NAME, is "web/"' },
    {
      args: ["web/shop"],
      problem:
        'unknown kind "web" in "web/shop", known are: rlc (RateLimitConfig), rls (RateLimitService); a namespace is given with -n',
    },
    { args: ["-n", ""], problem: "--namespace must not be empty" },
    { args: ["--context="], problem: "--context must not be empty" },
    { args: ["-A", "-n", "web"], problem: "--all-namespaces and --namespace do not go together" },
    { args: ["-A", "shop"], problem: "a resource cannot be named with --all-namespaces" },
    { args: ["-o", "wide"], problem: 'the output must be text, json or yaml, is "wide"' },
  ])("refuses $args", ({ args, problem }) => {
    expect(parseStatusArguments(args)).toBe(problem);
  });
});
