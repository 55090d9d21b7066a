import { createSecretKey } from "node:crypto";
import { callerGroup } from "@weir/common/callers/caller-group";
import { describe, expect, it } from "vitest";
import {
  createSession,
  findLiveSession,
  hashTokenId,
  ipPrefix,
  isCurrentToken,
  newestTokenHash,
  refreshTokenId,
  type SessionRecord,
  shortUserAgent,
  withChanged,
  withoutSession,
  withSession,
  withUse,
} from "./session-records.ts";

const LIMITS = { idleMs: 7_000, absoluteMs: 30_000, maxSessions: 3 };
const DEVICE = { userAgent: "curl/8", ipPrefix: "192.0.2.0/24" };

function session(id: string, startMs: number): SessionRecord {
  return createSession(id, `token-${id}`, DEVICE, startMs, LIMITS);
}

describe("createSession()", () => {
  it("starts at a whole second and stores the hash of the token's id only", () => {
    expect(createSession("s", "token", DEVICE, 1_000_999, LIMITS)).toEqual({
      id: "s",
      generation: 0,
      tokenHash: "3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0",
      rotatedAtMs: null,
      graceGeneration: 0,
      createdAtMs: 1_000_000,
      lastUsedAtMs: 1_000_999,
      idleExpiresAtMs: 1_007_000,
      absoluteExpiresAtMs: 1_030_000,
      userAgent: "curl/8",
      ipPrefix: "192.0.2.0/24",
    });
  });

  it("ends the token with the session when the session is the shorter", () => {
    expect(createSession("s", "t", DEVICE, 0, { ...LIMITS, idleMs: 90_000 }).idleExpiresAtMs).toBe(30_000);
  });
});

describe("withSession()", () => {
  it("drops the oldest of too many that were never refreshed", () => {
    const three = [session("a", 0), session("b", 0), session("c", 0)];
    expect(withSession(three, session("d", 0), 0, LIMITS).map(({ id }) => id)).toEqual(["b", "c", "d"]);
  });

  it("drops the least recently used of too many, and keeps the order of logins", () => {
    const three = [withUse(session("a", 0), 3, LIMITS), session("b", 1), withUse(session("c", 0), 2, LIMITS)];
    expect(withSession(three, session("d", 4), 4, LIMITS).map(({ id }) => id)).toEqual(["a", "c", "d"]);
  });

  it("drops several when the limit was lowered", () => {
    const three = [session("a", 0), session("b", 0), session("c", 0)];
    expect(withSession(three, session("d", 0), 0, { maxSessions: 2 }).map(({ id }) => id)).toEqual(["c", "d"]);
  });

  it("drops ended sessions first", () => {
    const some = [session("a", 5_000), session("b", 0), session("c", 5_000)];
    expect(withSession(some, session("d", 7_000), 7_000, LIMITS).map(({ id }) => id)).toEqual(["a", "c", "d"]);
  });

  it("keeps one when one is the limit", () => {
    expect(
      withSession([session("a", 0)], session("b", 0), 0, { ...LIMITS, maxSessions: 1 }).map(({ id }) => id),
    ).toEqual(["b"]);
  });
});

describe("findLiveSession()", () => {
  it.each([
    { nowMs: 6_999, found: true },
    { nowMs: 7_000, found: false },
  ])("answers $found at $nowMs ms of 7000", ({ nowMs, found }) => {
    expect(findLiveSession([session("a", 0)], "a", nowMs) !== undefined).toBe(found);
  });

  it("ends a session at its absolute end whatever its token says", () => {
    expect(findLiveSession([{ ...session("a", 0), idleExpiresAtMs: 99_000 }], "a", 30_000)).toBeUndefined();
  });
});

describe("withUse()", () => {
  it("moves the idle end, in whole seconds, and not the absolute end", () => {
    expect(withUse(session("a", 0), 5_900, LIMITS)).toMatchObject({
      lastUsedAtMs: 5_900,
      idleExpiresAtMs: 12_000,
      absoluteExpiresAtMs: 30_000,
    });
  });

  it("ends at the absolute end at the latest", () => {
    expect(withUse(session("a", 0), 29_000, LIMITS).idleExpiresAtMs).toBe(30_000);
  });
});

describe("withoutSession(), withChanged() and newestTokenHash()", () => {
  const two = [session("a", 0), session("b", 0)];

  it("removes one session", () => {
    expect(withoutSession(two, "a").map(({ id }) => id)).toEqual(["b"]);
  });

  it("changes one session in its place", () => {
    const changed = { ...session("a", 0), generation: 1 };
    expect(withChanged(two, changed).map(({ id, generation }) => [id, generation])).toEqual([
      ["a", 1],
      ["b", 0],
    ]);
  });

  it("names the token of the newest session, or none", () => {
    expect([newestTokenHash(two), newestTokenHash([])]).toEqual([hashTokenId("token-b"), null]);
  });
});

describe("isCurrentToken()", () => {
  it("knows its own token and no other", () => {
    expect([isCurrentToken(session("a", 0), "token-a"), isCurrentToken(session("a", 0), "token-b")]).toEqual([
      true,
      false,
    ]);
  });
});

describe("refreshTokenId()", () => {
  it("is the same for the same session and generation, and differs otherwise", () => {
    const key = createSecretKey("k".repeat(32), "utf8");
    const ids = [
      refreshTokenId(key, "s", 0),
      refreshTokenId(key, "s", 0),
      refreshTokenId(key, "s", 1),
      refreshTokenId(key, "t", 0),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe(ids[1]);
  });
});

describe("ipPrefix()", () => {
  it.each([
    { address: "192.0.2.77", prefix: "192.0.2.0/24" },
    { address: "::ffff:192.0.2.77", prefix: "192.0.2.0/24" },
    { address: "2001:db8:1:2:3:4:5:6", prefix: "2001:db8:1:2::/64" },
    { address: "2001:DB8::1", prefix: "2001:db8::/64" },
    { address: "::1", prefix: "::/64" },
    { address: "fe80::1%eth0", prefix: "fe80::/64" },
    { address: "unknown", prefix: "" },
    { address: undefined, prefix: "" },
  ])("gives $prefix for $address", ({ address, prefix }) => {
    expect(ipPrefix(callerGroup(address))).toBe(prefix);
  });
});

describe("shortUserAgent()", () => {
  it.each([
    { header: undefined, short: "" },
    { header: "curl/8\u0007\u202e", short: "curl/8" },
    { header: "x".repeat(101), short: "x".repeat(100) },
  ])("keeps $short", ({ header, short }) => {
    expect(shortUserAgent(header)).toBe(short);
  });
});
