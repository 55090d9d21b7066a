// Tests of how flags are read: every spelling, and what is wrong in words that help.
import { describe, expect, it } from "vitest";

import { readFlags } from "./read-flags.ts";

const TABLE = {
  file: { type: "string", short: "f" },
  header: { type: "string", short: "H" },
  quick: { type: "boolean", short: "q" },
} as const;

describe("readFlags()", () => {
  it.each([
    { args: ["-f", "a", "-f=b", "-fc", "--file", "d", "--file=e"], files: ["a", "b", "c", "d", "e"], words: [] },
    { args: ["x", "-f=a=b", "y"], files: ["a=b"], words: ["x", "y"] },
    { args: ["-f=", "y", "-fa=b", "-qf=c", "-f=-d"], files: ["", "a=b", "c", "-d"], words: ["y"] },
    { args: ["--file=-a", "-"], files: ["-a"], words: ["-"] },
    { args: ["--", "-f=a", "--file"], files: [], words: ["-f=a", "--file"] },
  ])("reads $args", ({ args, files, words }) => {
    const flags = readFlags(args, TABLE);
    expect(
      typeof flags !== "string" && { files: flags.all("file"), last: flags.last("file"), words: flags.words },
    ).toEqual({
      files,
      last: files.at(-1),
      words,
    });
  });

  it("reads flags without a value, and short ones of either letter case", () => {
    const flags = readFlags(["-H=a: b", "-q"], TABLE);
    expect(typeof flags !== "string" && { header: flags.last("header"), quick: flags.has("quick") }).toEqual({
      header: "a: b",
      quick: true,
    });
  });

  it.each([
    { args: ["--fil", "a"], message: 'unknown flag "--fil", known are: -f, --file, -H, --header, -q, --quick, --help' },
    { args: ["-x"], message: 'unknown flag "-x", known are: -f, --file, -H, --header, -q, --quick, --help' },
    { args: ["--file"], message: "option '-f, --file <value>' argument missing" },
    { args: ["--quick=yes"], message: "option '-q, --quick' does not take an argument" },
    { args: ["-q=yes"], message: "option '-q, --quick' does not take an argument" },
    { args: ["-x=yes"], message: 'unknown flag "-x", known are: -f, --file, -H, --header, -q, --quick, --help' },
    { args: ["-f", "-a"], message: "a value that begins with a dash must be written as --file=VALUE" },
    { args: ["--file", "-a"], message: "a value that begins with a dash must be written as --file=VALUE" },
  ])("refuses $args", ({ args, message }) => {
    expect(readFlags(args, TABLE)).toBe(message);
  });
});
