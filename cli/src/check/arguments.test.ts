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
    { args: ["--skip-other-kinds", "a"], paths: ["a"], format: "text", mergeDomains: false, skipOtherKinds: true },
    {
      args: ["--against", "live", "a"],
      paths: ["a"],
      format: "text",
      mergeDomains: false,
      against: { kind: "files", paths: ["live"] },
    },
    {
      args: ["--against=cluster", "-n", "web", "--context", "prod", "a"],
      paths: ["a"],
      format: "text",
      mergeDomains: false,
      against: {
        kind: "cluster",
        cluster: { kubeconfig: undefined, context: "prod" },
        namespace: "web",
        allNamespaces: false,
      },
    },
    { args: ["a", "--", "-o", "--help"], paths: ["a", "-o", "--help"], format: "text", mergeDomains: false },
    { args: ["-o", "json", "-o", "text", "a"], paths: ["a"], format: "text", mergeDomains: false },
  ])("understands $args", ({ args, ...expected }) => {
    expect(parseCheckArguments(args)).toEqual({ skipOtherKinds: false, against: undefined, ...expected });
  });

  it.each([
    { args: [], message: "no file given: name files or directories, or - for standard input" },
    { args: ["--"], message: "no file given: name files or directories, or - for standard input" },
    {
      args: ["-x", "a"],
      message:
        'unknown flag "-x", known are: -o, --output, --merge-domains, --skip-other-kinds, --against, -n, --namespace, -A, --all-namespaces, --kubeconfig, --context, --help',
    },
    { args: ["--against", "", "a"], message: "--against must not be empty" },
    { args: ["--against", "live", "-A", "a"], message: "--all-namespaces needs --against cluster" },
    { args: ["--namespace", "web", "a"], message: "--namespace needs --against cluster" },
    {
      args: ["--against", "cluster", "-A", "-n", "web", "a"],
      message: "--all-namespaces and --namespace do not go together",
    },
    { args: ["--merge-domains=yes", "a"], message: "option '--merge-domains' does not take an argument" },
    { args: ["a", "-o"], message: "option '-o, --output <value>' argument missing" },
    { args: ["a", "--output=xml"], message: 'the output must be text or json, is "xml"' },
  ])("refuses $args", ({ args, message }) => {
    expect(parseCheckArguments(args)).toBe(message);
  });
});
