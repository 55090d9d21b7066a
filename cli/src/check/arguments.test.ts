// Tests of the command line of `weir check`.
import { describe, expect, it } from "vitest";

import { parseCheckArguments } from "./arguments.ts";

describe("parseCheckArguments()", () => {
  it.each([
    { args: ["a.yaml"], paths: ["a.yaml"], format: "text", mergeDomains: false },
    { args: ["a", "-o", "json", "b"], paths: ["a", "b"], format: "json", mergeDomains: false },
    { args: ["-o=json", "a"], paths: ["a"], format: "json", mergeDomains: false },
    { args: ["-ojson", "a"], paths: ["a"], format: "json", mergeDomains: false },
    { args: ["--output", "text", "-"], paths: ["-"], format: "text", mergeDomains: false },
    { args: ["--output=json", "--merge-domains", "a"], paths: ["a"], format: "json", mergeDomains: true },
    { args: ["a", "--", "-o", "--help"], paths: ["a", "-o", "--help"], format: "text", mergeDomains: false },
    { args: ["-o", "json", "-o", "text", "a"], paths: ["a"], format: "text", mergeDomains: false },
  ])("understands $args", ({ args, ...expected }) => {
    expect(parseCheckArguments(args)).toEqual({ kind: "check", ...expected });
  });

  it.each([[["--help"]], [["-h"]], [["a", "--help"]]])("shows the help for %j", (args) => {
    expect(parseCheckArguments(args)).toEqual({ kind: "help" });
  });

  it.each([
    { args: [], message: "no file given: name files or directories, or - for standard input" },
    { args: ["--"], message: "no file given: name files or directories, or - for standard input" },
    { args: ["-x", "a"], message: 'unknown flag "-x", known are: -o, --output, --merge-domains, --help' },
    { args: ["--merge-domains=yes", "a"], message: 'unknown flag "--merge-domains=yes", known are: -o, --output, --merge-domains, --help' },
    { args: ["a", "-o"], message: 'the output must be text or json, is ""' },
    { args: ["a", "--output=xml"], message: 'the output must be text or json, is "xml"' },
  ])("refuses $args", ({ args, message }) => {
    expect(parseCheckArguments(args)).toEqual({ kind: "wrong", message });
  });
});
