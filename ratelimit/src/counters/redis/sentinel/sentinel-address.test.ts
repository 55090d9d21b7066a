// The meaning of KVSTORE_URL for the type sentinel, and its refusal.
import { Secret } from "@weir/common/settings/secret";
import { describe, expect, it } from "vitest";
import { parseSentinelAddress } from "./sentinel-address.ts";

const FORMAT =
  "Expected master name and a list of urls for the sentinels, in the format: <redis master name>,<sentinel1>,...,<sentineln>";

function parse(url: string, auth?: string, sentinelAuth?: string) {
  return parseSentinelAddress({
    url: new Secret(url),
    auth: auth === undefined ? undefined : new Secret(auth),
    sentinelAuth: sentinelAuth === undefined ? undefined : new Secret(sentinelAuth),
  });
}

describe("parseSentinelAddress()", () => {
  it("parseSentinelAddress() finds the name and the sentinels, with the port of sentinels where none is written", () => {
    expect(parse("mymaster, s1:26380 ,s2,[::1]:26381")).toMatchObject({
      ok: true,
      address: {
        primaryName: "mymaster",
        text: "mymaster,s1:26380,s2:26379,[::1]:26381",
        auth: undefined,
        sentinels: [
          { target: { kind: "tcp", host: "s1", port: 26_380 }, isTls: false, auth: undefined, text: "s1:26380" },
          { target: { kind: "tcp", host: "s2", port: 26_379 }, text: "s2:26379" },
          { target: { kind: "tcp", host: "::1", port: 26_381 }, text: "[::1]:26381" },
        ],
      },
    });
  });

  it("case 123: parseSentinelAddress() keeps the credentials of the store and of the sentinels apart", () => {
    const parsed = parse("mymaster,s1:1,redis://:other@s2:2", "user:se:cret", "sesame");
    if (!parsed.ok) throw new Error(parsed.problem);
    expect(parsed.address.auth?.().map((secret) => secret.reveal())).toEqual(["user", "se:cret"]);
    expect(parsed.address.sentinels.map(({ auth }) => auth?.().map((secret) => secret.reveal()))).toEqual([
      ["sesame"],
      ["sesame"],
    ]);
  });

  it("case 127: parseSentinelAddress() leaves the name of the primary in messages and takes all credentials out", () => {
    const parsed = parse("mymaster,redis://foo:b@r@s1:26379,redis://foo:bar@s2:26379");
    expect(parsed).toMatchObject({ ok: true, address: { text: "mymaster,s1:26379,s2:26379" } });
    if (!parsed.ok) throw new Error(parsed.problem);
    expect(parsed.address.sentinels[0]?.auth?.().map((secret) => secret.reveal())).toEqual(["foo", "b@r"]);
  });

  it.each([
    { url: "mymaster", problem: FORMAT },
    { url: "", problem: FORMAT },
    { url: ",s1:26379", problem: FORMAT },
    { url: "redis://:secret@s1:26379,s2:26379", problem: FORMAT },
    {
      url: "mymaster,s1:port",
      problem: `${FORMAT}; it must be host:port or redis://user:password@host:port/database for the socket type tcp, for each server of the list; number 1 is not`,
    },
    {
      url: "mymaster,s1:1,",
      problem: `${FORMAT}; it must be host:port or redis://user:password@host:port/database for the socket type tcp, for each server of the list; number 2 is not`,
    },
  ])("case 123: parseSentinelAddress() reports the format when the URL is '$url'", ({ url, problem }) => {
    expect(parse(url)).toEqual({ ok: false, problem });
  });
});
