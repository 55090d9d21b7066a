// Tests of the command line of `weir shadow`.
import { describe, expect, it } from "vitest";

import { parseShadowArguments } from "./arguments.ts";

describe("parseShadowArguments()", () => {
  it.each([
    { args: ["on", "shop"], expected: { isOn: true, names: ["shop"], allNamespaces: false, includesProtected: false } },
    {
      args: ["off", "rlc/shop", "mail", "-n", "web"],
      expected: { isOn: false, names: ["shop", "mail"], namespace: "web" },
    },
    { args: ["on", "--all"], expected: { names: undefined, namespace: undefined, allNamespaces: false } },
    { args: ["--all", "on", "-A", "--protected"], expected: { allNamespaces: true, includesProtected: true } },
  ])("reads $args", ({ args, expected }) => {
    expect(parseShadowArguments(args)).toMatchObject(expected);
  });

  it.each([
    { args: [], problem: "the first argument must be on or off" },
    { args: ["shop"], problem: 'the first argument must be on or off, is "shop"' },
    { args: ["on"], problem: "name a RateLimitConfig, or --all" },
    { args: ["on", "--all", "shop"], problem: "--all and names do not go together" },
    { args: ["on", "rls/edge"], problem: 'a RateLimitConfig must be NAME or rlc/NAME, is "rls/edge"' },
    { args: ["on", ""], problem: 'a RateLimitConfig must be NAME or rlc/NAME, is ""' },
    { args: ["on", "shop", "-A"], problem: "--all-namespaces needs --all" },
    { args: ["on", "--all", "-A", "-n", "web"], problem: "--all-namespaces and --namespace do not go together" },
    { args: ["on", "shop", "--protected"], problem: "--protected needs --all: what is named is switched anyway" },
    { args: ["on", "shop", "-n", ""], problem: "--namespace must not be empty" },
    { args: ["on", "shop", "--context="], problem: "--context must not be empty" },
  ])("refuses $args: $problem", ({ args, problem }) => {
    expect(parseShadowArguments(args)).toBe(problem);
  });
});
