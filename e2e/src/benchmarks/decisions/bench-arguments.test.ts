import { describe, expect, it } from "vitest";
import { parseBenchArguments } from "./bench-arguments.ts";

describe("parseBenchArguments()", () => {
  it.each([
    { args: [], parsed: { rounds: 3, isQuick: false, against: undefined } },
    { args: ["7"], parsed: { rounds: 7, isQuick: false, against: undefined } },
    { args: ["--quick"], parsed: { rounds: 1, isQuick: true, against: undefined } },
    { args: ["--quick", "2"], parsed: { rounds: 2, isQuick: true, against: undefined } },
    { args: ["--against", "b4da872"], parsed: { rounds: 3, isQuick: false, against: "b4da872" } },
    { args: ["5", "--against=v1.2"], parsed: { rounds: 5, isQuick: false, against: "v1.2" } },
  ])("gives $parsed when the arguments are $args", ({ args, parsed }) => {
    expect(parseBenchArguments(args)).toEqual(parsed);
  });

  it.each([
    {
      args: ["0"],
      message: "Cannot measure with '0': allowed are a number of rounds from 1 to 99, --quick and --against COMMIT",
    },
    { args: ["100"], message: "Cannot measure with '100'" },
    { args: ["--fast"], message: "Cannot measure with '--fast'" },
    { args: ["--against"], message: "Cannot measure with '--against'" },
  ])("throws when the arguments are $args", ({ args, message }) => {
    expect(() => parseBenchArguments(args)).toThrow(message);
  });
});
