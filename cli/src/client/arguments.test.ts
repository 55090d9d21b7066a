import { describe, expect, it } from "vitest";

import { parseClientArguments } from "./arguments.ts";

describe("parseClientArguments", () => {
  it("parseClientArguments() fills in the defaults", () => {
    expect(parseClientArguments(["-domain", "d", "-descriptors", "k=v"])).toEqual({
      dialString: "localhost:8081",
      domain: "d",
      descriptors: [[{ key: "k", value: "v" }]],
      hitsAddend: 1,
      timeoutMs: 10_000,
      traceProtocol: undefined,
      tls: undefined,
    });
  });

  it("parseClientArguments() reads one dash and two, a space and an equals sign, and descriptors again and again", () => {
    const args = [
      "--dial_string=host:1",
      "-domain=d",
      "--descriptors",
      "a=b,c=d=e",
      "-descriptors=x=",
      "--hits_addend",
      "0",
      "-timeout=3",
      "-oltp-protocol=grpc",
    ];
    expect(parseClientArguments(args)).toEqual({
      dialString: "host:1",
      domain: "d",
      descriptors: [
        [
          { key: "a", value: "b" },
          { key: "c", value: "d=e" },
        ],
        [{ key: "x", value: "" }],
      ],
      hitsAddend: 0,
      timeoutMs: 3000,
      traceProtocol: "grpc",
      tls: undefined,
    });
  });

  it("parseClientArguments() reads TLS with its files", () => {
    const args = [
      "-domain",
      "d",
      "-descriptors",
      "k=v",
      "-grpc-use-tls",
      "-grpc-server-ca-file",
      "/a",
      "-grpc-cert-file",
      "/c",
      "-grpc-key-file",
      "/k",
    ];
    expect(parseClientArguments(args)).toMatchObject({
      tls: { caPath: "/a", certPath: "/c", keyPath: "/k" },
    });
    expect(parseClientArguments(["-domain", "d", "-descriptors", "k=v", "-grpc-use-tls=true"])).toMatchObject({
      tls: {},
    });
    expect(parseClientArguments(["-domain", "d", "-descriptors", "k=v", "-grpc-use-tls=false"])).toMatchObject({
      tls: undefined,
    });
  });

  it.each([
    ["nothing", [], "-domain is missing"],
    ["no descriptors", ["-domain", "d"], "-descriptors is missing: KEY=VALUE pairs separated by commas"],
    [
      "a pair without an equals sign",
      ["-domain", "d", "-descriptors", "k=v,x"],
      "-descriptors must be KEY=VALUE pairs separated by commas, current value is k=v,x",
    ],
    [
      "a pair without a key",
      ["-domain", "d", "-descriptors", "=v"],
      "-descriptors must be KEY=VALUE pairs separated by commas, current value is =v",
    ],
    ["a flag without its value", ["-domain"], "-domain needs a value: DOMAIN to ask in."],
    ["an unknown flag", ["-verbose"], "there is no flag -verbose; --help lists them"],
    ["the name of an object's member", ["-constructor", "x"], "there is no flag -constructor; --help lists them"],
    ["an argument that is no flag", ["domain"], "there is no argument domain; --help lists them"],
    [
      "hits that are no number",
      ["-domain", "d", "-descriptors", "k=v", "-hits_addend", "-1"],
      "-hits_addend must be a whole number from 0 to 4294967295, current value is -1",
    ],
    [
      "a wait of no time",
      ["-domain", "d", "-descriptors", "k=v", "-timeout", "0"],
      "-timeout must be a whole number of seconds from 1 to 3600, current value is 0",
    ],
    [
      "files without TLS",
      ["-domain", "d", "-descriptors", "k=v", "-grpc-server-ca-file", "/a"],
      "certificate files are given, but not -grpc-use-tls",
    ],
    [
      "a protocol of traces",
      ["-domain", "d", "-descriptors", "k=v", "-oltp-protocol", "zipkin"],
      "-oltp-protocol is http, grpc or empty, current value is zipkin",
    ],
    ["a switch that is neither", ["-grpc-use-tls=maybe"], "-grpc-use-tls is true or false, current value is maybe"],
  ])("parseClientArguments() refuses %s", (_what, args, problem) => {
    expect(parseClientArguments(args)).toBe(problem);
  });
});
