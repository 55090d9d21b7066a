import { createSecretKey, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { KeyRing } from "./key-ring.ts";
import { decideRotation, type RotationDecision } from "./rotation.ts";
import { createSession, hashTokenId, refreshTokenId, type SessionRecord } from "./session-records.ts";

const LIMITS = { idleMs: 7_000, absoluteMs: 30_000, maxSessions: 3, graceMs: 3_000, isRotating: true };
const KEY = createSecretKey(Buffer.alloc(32, 1));
const OTHER_KEY = createSecretKey(Buffer.alloc(32, 2));
const RING = ringOf(KEY);

/** The ring in which the first key signs, and both verify. */
function ringOf(first: KeyObject, second = first): KeyRing {
  const signing = { id: "first", algorithm: "HS256" as const, key: first };
  return {
    signing,
    verifying: new Map([
      ["second", { ...signing, id: "second", key: second }],
      ["first", signing],
    ]),
  };
}

/** A session of generation 4 that was rotated at 1000 ms by the token of generation 3. */
const SESSION: SessionRecord = {
  ...createSession("s", "first", { userAgent: "", ipPrefix: "" }, 0, LIMITS),
  generation: 4,
  tokenHash: hashTokenId(refreshTokenId(KEY, "s", 4)),
  rotatedAtMs: 1_000,
  rotatedBy: "here",
  graceGeneration: 3,
};
const OTHER = createSession("other", "t", { userAgent: "", ipPrefix: "" }, 0, LIMITS);

function decide(
  generation: number,
  {
    nowMs = 2_000,
    ring = RING,
    session = SESSION,
    limits = LIMITS,
    tokenId = refreshTokenId(KEY, "s", generation),
  }: {
    nowMs?: number;
    ring?: KeyRing;
    session?: SessionRecord;
    limits?: typeof LIMITS;
    tokenId?: string;
  } = {},
): RotationDecision {
  const token = { sessionId: "s", tokenId, generation };
  return decideRotation([session, OTHER], token, { nowMs, processId: "here", ring }, limits);
}

describe("decideRotation()", () => {
  it("replaces the current token and moves the idle end", () => {
    const decision = decide(4);
    expect(decision).toMatchObject({
      kind: "rotate",
      tokenId: refreshTokenId(KEY, "s", 5),
      session: {
        generation: 5,
        tokenHash: hashTokenId(refreshTokenId(KEY, "s", 5)),
        rotatedAtMs: 2_000,
        rotatedBy: "here",
        graceGeneration: 4,
        lastUsedAtMs: 2_000,
        idleExpiresAtMs: 9_000,
        absoluteExpiresAtMs: 30_000,
      },
    });
    expect(decision.kind === "rotate" && decision.sessions).toEqual([
      decision.kind === "rotate" && decision.session,
      OTHER,
    ]);
  });

  it.each([
    { name: "right after the rotation", generation: 3, nowMs: 1_000, kind: "repeat" },
    { name: "at the end of the grace", generation: 3, nowMs: 4_000, kind: "repeat" },
    { name: "after the grace", generation: 3, nowMs: 4_001, kind: "reuse" },
    { name: "on a replica whose clock is behind", generation: 3, nowMs: 900, kind: "repeat" },
    { name: "for the token before that, within the grace", generation: 2, nowMs: 1_000, kind: "reuse" },
    { name: "for the first token", generation: 0, nowMs: 1_000, kind: "reuse" },
    { name: "for a token that the record does not know yet", generation: 5, nowMs: 1_000, kind: "unknown" },
    { name: "at the idle end", generation: 4, nowMs: 7_000, kind: "ended" },
  ])("decides $kind $name", ({ generation, nowMs, kind }) => {
    expect(decide(generation, { nowMs }).kind).toBe(kind);
  });

  it.each([
    { name: "a replica whose clock is a minute behind", rotatedBy: "there", nowMs: 64_000, kind: "repeat" },
    { name: "a replica, longer ago than clocks differ", rotatedBy: "there", nowMs: 64_001, kind: "reuse" },
    { name: "an earlier release", rotatedBy: undefined, nowMs: 64_000, kind: "repeat" },
  ])("decides $kind after a rotation by $name", ({ rotatedBy, nowMs, kind }) => {
    const { rotatedBy: _, ...earlier } = SESSION;
    const session = {
      ...earlier,
      ...(rotatedBy !== undefined && { rotatedBy }),
      idleExpiresAtMs: 100_000,
      absoluteExpiresAtMs: 100_000,
    };
    expect(decide(3, { nowMs, session }).kind).toBe(kind);
  });

  it("repeats the current token, not the one after it", () => {
    expect(decide(3)).toEqual({ kind: "repeat", session: SESSION, tokenId: refreshTokenId(KEY, "s", 4) });
  });

  it("ends the session of a reused token and no other", () => {
    expect(decide(2)).toEqual({ kind: "reuse", sessions: [OTHER] });
  });

  it("has no grace when it is 0, not even in the same millisecond", () => {
    expect(decide(3, { nowMs: 1_000, limits: { ...LIMITS, graceMs: 0 } }).kind).toBe("reuse");
  });

  it("does not know a token of the current generation with another id", () => {
    expect(decide(4, { tokenId: refreshTokenId(OTHER_KEY, "s", 4) }).kind).toBe("unknown");
  });

  it("does not know a session of another user", () => {
    const token = { sessionId: "s", tokenId: "t", generation: 0 };
    const context = { nowMs: 0, processId: "here", ring: RING };
    expect(decideRotation([OTHER], token, context, LIMITS)).toEqual({ kind: "ended" });
  });

  it("repeats the current token when its key only verifies on this replica", () => {
    const tokenId = refreshTokenId(KEY, "s", 4);
    expect(decide(3, { ring: ringOf(OTHER_KEY, KEY) })).toEqual({ kind: "repeat", session: SESSION, tokenId });
  });

  it("replaces the token as usual when its key went within the grace, and still knows all that asked", () => {
    const decision = decide(3, { ring: ringOf(OTHER_KEY) });
    if (decision.kind !== "rotate") throw new Error(`rotate was expected, not ${decision.kind}`);
    expect(decision.session).toMatchObject({
      generation: 5,
      tokenHash: hashTokenId(refreshTokenId(OTHER_KEY, "s", 5)),
      rotatedAtMs: 2_000,
      graceGeneration: 3,
    });
    // A third tab with the token of generation 3, and the tab that has the one of generation 4.
    for (const generation of [3, 4]) {
      expect(decide(generation, { ring: ringOf(OTHER_KEY), session: decision.session })).toMatchObject({
        kind: "repeat",
        tokenId: refreshTokenId(OTHER_KEY, "s", 5),
      });
    }
  });

  it("keeps the token and moves the idle end when rotation is off", () => {
    expect(decide(4, { limits: { ...LIMITS, isRotating: false } })).toMatchObject({
      kind: "keep",
      session: { generation: 4, tokenHash: SESSION.tokenHash, idleExpiresAtMs: 9_000, lastUsedAtMs: 2_000 },
    });
  });
});
