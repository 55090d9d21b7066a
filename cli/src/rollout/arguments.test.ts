// Tests of the command line of `weir rollout`: what it means, and what is refused in which words.
import { describe, expect, it } from "vitest";

import { parseRolloutArguments } from "./arguments.ts";

const S = ["-s", "https://cp:8090"];

describe("parseRolloutArguments()", () => {
  it("asks a control plane on this machine for everything by default", () => {
    expect(parseRolloutArguments([])).toEqual({
      servers: ["http://127.0.0.1:8090"],
      access: { headers: [] },
      until: "once",
      timeoutMs: 60_000,
      format: "table",
      filter: { fleet: "", namespace: "", name: "", generation: 0 },
      needsPods: false,
    });
  });

  it("understands every flag", () => {
    const files = [
      "--ca-file",
      "ca",
      "--cert-file=cert",
      "--key-file",
      "key",
      "--server-name",
      "cp",
      "--token-file",
      "token",
    ];
    const more = [
      "-H",
      "A: b:c",
      "--header=D:",
      "--wait",
      "--timeout",
      "5",
      "--fleet",
      "edge",
      "-ojson",
      "--generation",
      "3",
      "web/shop",
    ];
    expect(
      parseRolloutArguments([...S, "-s=cp2", "-s", "https://127.0.0.1/", "--server", "[::1]:1", ...S, ...more]),
    ).toMatchObject({
      servers: ["https://cp:8090", "http://cp2", "https://127.0.0.1", "http://[::1]:1"],
      until: "wait",
      timeoutMs: 5_000,
      format: "json",
      filter: { fleet: "edge", namespace: "web", name: "shop", generation: 3 },
    });
    expect(parseRolloutArguments([...S, ...files, ...more])).toMatchObject({
      access: {
        caFile: "ca",
        certFile: "cert",
        keyFile: "key",
        serverName: "cp",
        tokenFile: "token",
        headers: [
          ["A", "b:c"],
          ["D", ""],
        ],
      },
    });
  });

  it("needs pods with --wait, unless --allow-no-pods is given", () => {
    expect(parseRolloutArguments(["--wait", "shop"])).toMatchObject({ needsPods: true });
    expect(parseRolloutArguments(["--wait", "--allow-no-pods", "shop"])).toMatchObject({ needsPods: false });
    expect(parseRolloutArguments(["--watch", "shop"])).toMatchObject({ needsPods: false });
  });

  it("looks for a resource in the namespace default unless one is named", () => {
    expect(parseRolloutArguments(["shop"])).toMatchObject({ filter: { namespace: "default", name: "shop" } });
    expect(parseRolloutArguments(["shop", "-n", "web"])).toMatchObject({ filter: { namespace: "web", name: "shop" } });
    expect(parseRolloutArguments(["-n", "web"])).toMatchObject({ filter: { namespace: "web", name: "" } });
  });

  it.each([
    { args: ["-s", "ftp://x"], message: 'a server must be like http://name:8090, is "ftp://x"' },
    { args: ["-s", "http://user:pass@x"], message: 'a server must be like http://name:8090, is "http://…@x"' },
    { args: ["-o", "text"], message: 'the output must be table or json, is "text"' },
    { args: ["--allow-no-pods", "shop"], message: "--allow-no-pods is for --wait" },
    { args: ["-w", "--wait"], message: "--watch and --wait do not go together" },
    { args: ["--wait", "--timeout", "1m"], message: 'the timeout must be a whole number of seconds, is "1m"' },
    { args: ["--timeout", "5"], message: "--timeout is for --wait" },
    { args: ["a", "b"], message: "one resource can be named at most, there are 2" },
    { args: ["a/b/c"], message: 'a resource must be NAME or NAMESPACE/NAME, is "a/b/c"' },
    { args: [""], message: 'a resource must be NAME or NAMESPACE/NAME, is ""' },
    { args: ["/x"], message: 'a resource must be NAME or NAMESPACE/NAME, is "/x"' },
    { args: ["a/"], message: 'a resource must be NAME or NAMESPACE/NAME, is "a/"' },
    { args: ["--fleet", ""], message: "--fleet must not be empty" },
    { args: ["-n=", "shop"], message: "--namespace must not be empty" },
    { args: ["-n", "b", "a/x"], message: 'the resource a/x is not in the namespace "b"' },
    { args: ["--generation", "2"], message: "--generation is for one RESOURCE, name it" },
    { args: ["--generation", "0", "x"], message: 'the generation must be a whole number from 1, is "0"' },
    { args: [...S, "--cert-file", "c"], message: "--cert-file needs --key-file" },
    { args: [...S, "--key-file", "k"], message: "--key-file needs --cert-file" },
    { args: [...S, "--ca-file", ""], message: "--ca-file must not be empty" },
    {
      args: ["--ca-file", "c"],
      message: "--ca-file is for servers with https://, there is none among http://127.0.0.1:8090",
    },
    {
      args: ["-s", "a", "-s", "b", "--server-name", "x"],
      message: "--server-name is for servers with https://, there is none among http://a, http://b",
    },
    { args: [...S, "--server-name", "10.0.0.1"], message: '--server-name must be a name, is the address "10.0.0.1"' },
    {
      args: [...S, "-s", "cp", "--token-file", "t"],
      message:
        "--token-file is for servers with https:// or on this machine: http://cp would get the token in the clear",
    },
    { args: ["-s", "http://x/?token=secret"], message: 'a server must be like http://name:8090, is "http://x/?…"' },
    { args: ["-s", "http://u:p?a/ss@x#secret"], message: 'a server must be like http://name:8090, is "http://…@x#…"' },
    { args: ["-H", "Authorization Bearer secret"], message: "a header must be 'NAME: VALUE', one has no colon" },
    {
      args: [...S, "-s", "cp", "-H", "authorization: Bearer secret"],
      message:
        "the header authorization is for servers with https:// or on this machine: http://cp would get it in the clear",
    },
    {
      args: ["-s", "cp", "-H", "Cookie: session=secret"],
      message: "the header Cookie is for servers with https:// or on this machine: http://cp would get it in the clear",
    },
    { args: ["-H", "na me: secret"], message: `a header must be 'NAME: VALUE', is "na me: …"` },
    { args: ["-H", "a: b\r\nc: d"], message: `a header must be 'NAME: VALUE', is "a: …"` },
    { args: ["-H", "Content-Type: text/plain"], message: "the header Content-Type is the protocol's own" },
    {
      args: [...S, "--token-file", "t", "-H", "Authorization: Basic x"],
      message: "--token-file and the header authorization do not go together",
    },
  ])("refuses $args", ({ args, message }) => {
    expect(parseRolloutArguments(args)).toBe(message);
  });
});

describe("parseRolloutArguments() with a cluster", () => {
  const DEFAULT = { namespace: "weir-system", service: "weir-control-plane-headless", port: undefined };

  it.each([
    { args: ["--from-cluster"], usesCluster: false, replicas: DEFAULT },
    { args: [], usesCluster: true, replicas: DEFAULT },
    { args: ["--context=prod"], usesCluster: false, replicas: { ...DEFAULT, context: "prod" } },
    {
      args: ["--control-plane-namespace=a", "--control-plane-service=b", "--control-plane-port=90"],
      usesCluster: false,
      replicas: { namespace: "a", service: "b", port: "90" },
    },
  ])("finds the replicas by $args", ({ args, usesCluster, replicas }) => {
    // The namespace of the context is not known yet.
    expect(parseRolloutArguments([...args, "shop"], { usesCluster })).toMatchObject({
      servers: [],
      replicas,
      filter: { namespace: "", name: "shop" },
    });
  });

  it("asks servers that are named", () => {
    const named = parseRolloutArguments(S, { usesCluster: true });
    expect(named).toMatchObject({ servers: ["https://cp:8090"] });
    expect(named).not.toHaveProperty("replicas");
  });

  it.each([
    { args: [...S, "--from-cluster"], problem: "--from-cluster and --server do not go together" },
    { args: [...S, "--context", "a"], problem: "--context and --server do not go together" },
    { args: ["--from-cluster", "--token-file", "t"], problem: "--token-file is for --server" },
    { args: ["--control-plane-service="], problem: "--control-plane-service must not be empty" },
  ])("refuses $args", ({ args, problem }) => {
    expect(parseRolloutArguments(args)).toBe(problem);
  });
});
