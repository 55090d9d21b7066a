// The list of configured nodes, and what nodes that are learnt from the cluster take from it.
import { Secret } from "@weir/common/settings/secret";
import { describe, expect, it } from "vitest";
import { nodeAddress, parseSeeds } from "./seeds.ts";

function parse(url: string, auth?: string) {
  return parseSeeds({ url: new Secret(url), auth: auth === undefined ? undefined : new Secret(auth) });
}

function learnt(url: string, auth?: string) {
  const parsed = parse(url, auth);
  if (!parsed.ok) throw new Error(parsed.problem);
  const address = nodeAddress(parsed.seeds, { host: "10.0.0.9", port: 7009 });
  return { ...address, auth: address.auth?.().map((secret) => secret.reveal()) };
}

describe("parseSeeds()", () => {
  it("parseSeeds() finds every node of the list", () => {
    const parsed = parse("a:7000, b:7001 ,redis://user:secret@c:7002,[::1]:7003");
    expect(parsed).toMatchObject({
      ok: true,
      seeds: {
        text: "a:7000,b:7001,c:7002,[::1]:7003",
        addresses: [
          { target: { kind: "tcp", host: "a", port: 7000 } },
          { target: { kind: "tcp", host: "b", port: 7001 } },
          { target: { kind: "tcp", host: "c", port: 7002 } },
          { target: { kind: "tcp", host: "::1", port: 7003 } },
        ],
      },
    });
  });

  it("parseSeeds() says what is wrong without showing a password", () => {
    expect(parse("a:7000,,b:7001")).toMatchObject({ ok: false });
    expect(parse("redis://:secret@a:99999")).toMatchObject({
      ok: false,
      problem: expect.not.stringContaining("secret") as string,
    });
    expect(parse("redis://:secret@a:7000/3")).toEqual({ ok: false, problem: "a cluster has no database but 0" });
  });
});

describe("nodeAddress()", () => {
  it.each([
    { url: "a:7000", auth: undefined, found: undefined, isTls: false },
    { url: "a:7000", auth: "user:pass", found: ["user", "pass"], isTls: false },
    { url: "a:7000,redis://u:p@b:7001", auth: undefined, found: ["u", "p"], isTls: false },
    { url: "redis://u:p@a:7000", auth: "other", found: ["other"], isTls: false },
    { url: "rediss://a:7000,rediss://b:7001", auth: undefined, found: undefined, isTls: true },
  ])(
    "nodeAddress() introduces itself with $found when the list is $url and the auth $auth",
    ({ url, auth, found, isTls }) => {
      expect(learnt(url, auth)).toEqual({
        target: { kind: "tcp", host: "10.0.0.9", port: 7009 },
        isTls,
        auth: found,
        database: 0,
        text: "10.0.0.9:7009",
      });
    },
  );
});
