// Every form of an address and of credentials, and the refusal of what is none.
import { Secret } from "@weir/common/settings/secret";
import { describe, expect, it } from "vitest";
import { parseAddress } from "./address.ts";

function parse(url: string, socketType: "unix" | "tcp" = "tcp", auth?: string) {
  return parseAddress({ socketType, url: new Secret(url), auth: auth === undefined ? undefined : new Secret(auth) });
}

describe("parseAddress()", () => {
  it.each([
    { url: "redis:6380", target: { kind: "tcp", host: "redis", port: 6380 }, text: "redis:6380" },
    { url: "redis", target: { kind: "tcp", host: "redis", port: 6379 }, text: "redis:6379" },
    { url: ":6380", target: { kind: "tcp", host: "localhost", port: 6380 }, text: "localhost:6380" },
    { url: "[::1]:6380", target: { kind: "tcp", host: "::1", port: 6380 }, text: "[::1]:6380" },
    { url: "redis://10.0.0.1:6380", target: { kind: "tcp", host: "10.0.0.1", port: 6380 }, text: "10.0.0.1:6380" },
    { url: "redis://redis", target: { kind: "tcp", host: "redis", port: 6379 }, text: "redis:6379" },
  ])("parseAddress() finds $text when the URL is $url", ({ url, target, text }) => {
    expect(parse(url)).toEqual({ ok: true, address: { target, isTls: false, auth: undefined, database: 0, text } });
  });

  it.each([
    { url: "/run/redis.sock", socketType: "unix" as const },
    { url: "unix:///run/redis.sock", socketType: "unix" as const },
    { url: "unix:///run/redis.sock", socketType: "tcp" as const },
  ])("parseAddress() finds the path when the URL is $url and the socket type $socketType", ({ url, socketType }) => {
    expect(parse(url, socketType)).toMatchObject({
      ok: true,
      address: { target: { kind: "unix", path: "/run/redis.sock" }, text: "/run/redis.sock" },
    });
  });

  it.each([
    { url: "redis://user:pass@host:1/5", auth: undefined, found: ["user", "pass"], database: 5 },
    { url: "redis://:pass@host:1/0", auth: undefined, found: ["pass"], database: 0 },
    { url: "redis://user:p@ss:w%40rd@host:1", auth: undefined, found: ["user", "p@ss:w@rd"], database: 0 },
    { url: "redis://user:100%@host:1", auth: undefined, found: ["user", "100%"], database: 0 },
    { url: "redis://user@host:1", auth: undefined, found: undefined, database: 0 },
    { url: "redis://user:pass@host:1", auth: "other", found: ["other"], database: 0 },
    { url: "host:1", auth: "pass", found: ["pass"], database: 0 },
    { url: "host:1", auth: "user:pa:ss", found: ["user", "pa:ss"], database: 0 },
  ])(
    "parseAddress() finds $found and database $database when the URL is $url and the auth $auth",
    ({ url, auth, found, database }) => {
      const parsed = parse(url, "tcp", auth);
      expect(parsed.ok && parsed.address.auth?.().map((secret) => secret.reveal())).toEqual(found);
      expect(parsed).toMatchObject({ ok: true, address: { database, text: "host:1" } });
    },
  );

  it("parseAddress() asks for TLS when the scheme is rediss", () => {
    expect(parse("rediss://host:1")).toMatchObject({ ok: true, address: { isTls: true } });
  });

  it.each([
    {
      url: "host:0",
      socketType: "tcp" as const,
      problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp",
    },
    {
      url: "host:65536",
      socketType: "tcp" as const,
      problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp",
    },
    {
      url: "",
      socketType: "tcp" as const,
      problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp",
    },
    {
      url: "/run/redis.sock",
      socketType: "tcp" as const,
      problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp",
    },
    {
      url: "host:6379",
      socketType: "unix" as const,
      problem: "it must be the path of a unix socket; for host:port set the socket type to tcp",
    },
    { url: "", socketType: "unix" as const, problem: "it must be the path of a unix socket, and it is empty" },
    {
      url: "redis://:secret@host:port",
      socketType: "tcp" as const,
      problem: "it must be redis://host:port, redis://user:password@host:port or either with /database",
    },
    {
      url: "redis://:secret@host:1/name",
      socketType: "tcp" as const,
      problem: "it must be redis://host:port, redis://user:password@host:port or either with /database",
    },
    {
      url: "http://host:1",
      socketType: "tcp" as const,
      problem: "it must be redis://host:port, redis://user:password@host:port or either with /database",
    },
  ])(
    "parseAddress() says '$problem' when the URL is '$url' and the socket type $socketType",
    ({ url, socketType, problem }) => {
      expect(parse(url, socketType)).toEqual({ ok: false, problem });
    },
  );
});

it("parseAddress() finds the credentials of the moment when the URL or the password changes", () => {
  let url = "redis://user:one@host:1";
  const source = { current: () => url, onChange: () => () => undefined };
  const parsed = parseAddress({ socketType: "tcp", url: new Secret(source), auth: undefined });
  const present = () => parsed.ok && parsed.address.auth?.().map((secret) => secret.reveal());
  expect(present()).toEqual(["user", "one"]);
  url = "redis://other:two@host:1";
  expect(present()).toEqual(["other", "two"]);
  url = "broken";
  expect(present()).toEqual(["user", "one"]);
});
