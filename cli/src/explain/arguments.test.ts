// Tests of the command line of `weir explain`.
import { describe, expect, it } from "vitest";

import { parseExplainArguments } from "./arguments.ts";

const NOW_MS = 1_700_000_000_000;

describe("parseExplainArguments()", () => {
  it("reads every flag", () => {
    const args = [
      "-f",
      "a.yaml",
      "--dir=limits",
      "--domain",
      "shop",
      "-d",
      "a=b,c=d",
      "--descriptor=e=f",
      "--fleet",
      "edge",
    ];
    const rest = [
      "--at",
      "2026-01-31T12:00:00Z",
      "-o=json",
      "--key-prefix",
      "p:",
      "--merge-domains",
      "--skip-other-kinds",
    ];
    expect(parseExplainArguments([...args, ...rest], NOW_MS)).toEqual({
      from: { kind: "files", paths: ["a.yaml", "limits"] },
      domain: "shop",
      descriptors: [
        [
          { key: "a", value: "b" },
          { key: "c", value: "d" },
        ],
        [{ key: "e", value: "f" }],
      ],
      fleet: "edge",
      atMs: 1_769_860_800_000,
      format: "json",
      keyPrefix: "p:",
      mergeDomains: true,
      skipOtherKinds: true,
    });
  });

  it.each([
    { args: ["--from-cluster"], usesCluster: false, rest: {} },
    { args: [], usesCluster: true, rest: {} },
    { args: ["-n", "web"], usesCluster: false, rest: { namespace: "web" } },
    { args: ["-A", "--context=prod"], usesCluster: true, rest: { allNamespaces: true, cluster: { context: "prod" } } },
  ])("reads the rules of a cluster with $args", ({ args, usesCluster, rest }) => {
    expect(parseExplainArguments([...args, "-d", "k=v"], NOW_MS, { usesCluster })).toMatchObject({
      from: { kind: "cluster", namespace: undefined, allNamespaces: false, ...rest },
    });
  });

  it.each([
    { args: ["-f", "a"], usesCluster: false, counts: { servers: ["http://127.0.0.1:8092"] } },
    { args: ["-f", "a", "-s", "cp:8092"], usesCluster: true, counts: { servers: ["http://cp:8092"] } },
    { args: [], usesCluster: true, counts: { servers: [], replicas: { namespace: "weir-system" } } },
    {
      args: ["--from-cluster", "--context=prod"],
      usesCluster: false,
      counts: { servers: [], replicas: { context: "prod" } },
    },
  ])("asks for counts where $args say, cluster: $usesCluster", ({ args, usesCluster, counts }) => {
    const all = [...args, "-d", "k=v", "--counts", "--fleet", "web"];
    expect(parseExplainArguments(all, NOW_MS, { usesCluster })).toMatchObject({ counts });
  });

  it("reads files although the rules would come from the cluster", () => {
    expect(parseExplainArguments(["-f", "a", "-d", "k=v"], NOW_MS, { usesCluster: true })).toMatchObject({
      from: { kind: "files", paths: ["a"] },
    });
  });

  it.each([
    { time: undefined, atMs: NOW_MS },
    { time: "0", atMs: 0 },
    { time: "1234", atMs: 1_234_000 },
    { time: "2026-01-31", atMs: 1_769_817_600_000 },
    { time: "2026-01-31T13:00:00+01:00", atMs: 1_769_860_800_000 },
    // Without a zone it is UTC, wherever the terminal stands.
    { time: "2026-01-31T12:00:00", atMs: 1_769_860_800_000 },
    { time: "2024-02-29T12:00", atMs: 1_709_208_000_000 },
  ])("takes the time $time", ({ time, atMs }) => {
    const at = time === undefined ? [] : ["--at", time];
    expect(parseExplainArguments(["-f", "a", "-d", "k=v", ...at], NOW_MS)).toMatchObject({ atMs });
  });

  it.each([
    {
      args: [],
      message:
        "no rules given: name a file with --file, a directory with --dir, or the cluster of kubectl with --from-cluster",
    },
    {
      args: ["-f", "a", "-d", "k=v", "--counts"],
      message: "--counts needs the fleet of the pods: name it with --fleet",
    },
    {
      args: ["-f", "a", "-d", "k=v", "--counts", "--fleet", "web", "--at", "0"],
      message: "--counts and --at do not go together: counts are those of now",
    },
    { args: ["-f", "a", "-d", "k=v", "-s", "http://cp:8092"], message: "--server is for --counts" },
    { args: ["-f", "a", "-d", "k=v", "--token-file", "t"], message: "--token-file is for --counts" },
    { args: ["-f", "a", "-A"], message: "files and --all-namespaces do not go together" },
    { args: ["-f", "a", "-n", "web"], message: "files and --namespace do not go together" },
    { args: ["--from-cluster", "-n", ""], message: "--namespace must not be empty" },
    { args: ["-A", "-n", "web"], message: "--all-namespaces and --namespace do not go together" },
    { args: ["--context", ""], message: "--context must not be empty" },
    { args: ["-f", "a"], message: "no descriptor given: write one as --descriptor key=value,key=value" },
    { args: ["-f", "a", "b"], message: 'unexpected argument "b": name files with --file' },
    { args: ["-f", "a", "-d", "k"], message: 'an entry must be key=value, is "k" in "k"' },
    { args: ["-f", "a", "-d", "k=v,"], message: 'an entry must be key=value, is "" in "k=v,"' },
    { args: ["-f", "a", "-d", "=v"], message: 'an entry must have a key, is "=v" in "=v"' },
    { args: ["-f", "a", "-d", "k=v", "-o", "yaml"], message: 'the output must be text or json, is "yaml"' },
    {
      args: ["-f", "a", "-d", "k=v", "--at", "noon"],
      message: 'the time must be like 2026-01-31T12:00:00Z or seconds since the epoch, is "noon"',
    },
    ...[
      "2026-02-30",
      "2026-02-29T12:00:00Z",
      "2026-13-01",
      "2026-01-31T25:00:00Z",
      "2026-01-31 12:00",
      "-1",
      "1e9",
    ].map((time) => ({
      args: ["-f", "a", "-d", "k=v", `--at=${time}`],
      message: `the time must be like 2026-01-31T12:00:00Z or seconds since the epoch, is "${time}"`,
    })),
    { args: ["-f"], message: "option '-f, --file <value>' argument missing" },
    { args: ["--merge-domains=yes"], message: "option '--merge-domains' does not take an argument" },
    {
      args: ["--files", "a"],
      message:
        'unknown flag "--files", known are: -f, --file, --dir, --from-cluster, -n, --namespace, -A, --all-namespaces, --kubeconfig, --context, --domain, -d, --descriptor, --fleet, --counts, -s, --server, --control-plane-namespace, --control-plane-service, --control-plane-port, --ca-file, --cert-file, --key-file, --server-name, --token-file, -H, --header, --at, --key-prefix, --merge-domains, --skip-other-kinds, -o, --output, --help',
    },
  ])("refuses $args", ({ args, message }) => {
    expect(parseExplainArguments(args, NOW_MS)).toBe(message);
  });
});
