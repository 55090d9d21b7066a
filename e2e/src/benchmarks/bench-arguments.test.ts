import { describe, expect, it } from "vitest";
import { parseBenchArguments } from "./bench-arguments.ts";

const DEFAULTS = { rounds: 3, names: [], isQuick: false, against: undefined, only: [], isWritten: false };

describe("parseBenchArguments()", () => {
  it.each([
    { args: [], parsed: DEFAULTS },
    { args: ["7"], parsed: { ...DEFAULTS, rounds: 7 } },
    { args: ["--quick"], parsed: { ...DEFAULTS, rounds: 1, isQuick: true } },
    { args: ["--quick", "2"], parsed: { ...DEFAULTS, rounds: 2, isQuick: true } },
    { args: ["--against", "b4da872"], parsed: { ...DEFAULTS, against: "b4da872" } },
    {
      args: ["5", "--only", "redis", "--only=weir"],
      parsed: { ...DEFAULTS, rounds: 5, only: ["redis", "weir"] },
    },
    { args: ["--write"], parsed: { ...DEFAULTS, isWritten: true } },
  ])("gives $parsed when the arguments are $args", ({ args, parsed }) => {
    expect(parseBenchArguments(args)).toEqual(parsed);
  });

  it.each([
    { args: ["0"], message: "Cannot measure with '0': allowed are a number of rounds from 1 to 99, --quick" },
    { args: ["100"], message: "Cannot measure with '100'" },
    { args: ["--fast"], message: "Cannot measure with '--fast'" },
    { args: ["--against"], message: "Cannot measure with '--against'" },
    { args: ["--write", "--only", "tls"], message: "--write goes without --only" },
  ])("throws when the arguments are $args", ({ args, message }) => {
    expect(() => parseBenchArguments(args)).toThrow(message);
  });

  it.each([
    { args: [], parsed: { ...DEFAULTS, rounds: 1 } },
    { args: ["push", "edit"], parsed: { ...DEFAULTS, rounds: 1, names: ["push", "edit"] } },
    {
      args: ["10", "edit", "--against", "b4da872"],
      parsed: { ...DEFAULTS, rounds: 10, names: ["edit"], against: "b4da872" },
    },
  ])("gives $parsed when the arguments are $args and there are measures", ({ args, parsed }) => {
    expect(parseBenchArguments(args, ["edit", "push"])).toEqual(parsed);
  });

  it.each([["pull"], ["edit", "3"], ["--quick"]])("throws for the arguments %s when there are measures", (...args) => {
    const allowed = "allowed are a number of rounds from 1 to 99, edit, push, --against COMMIT";
    expect(() => parseBenchArguments(args, ["edit", "push"])).toThrow(`'${args.at(-1)}': ${allowed}`);
  });
});
