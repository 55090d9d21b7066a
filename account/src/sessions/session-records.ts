// The sessions of one user, as stored in the user's record, and the pure operations on them.
import { createHash, createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { CallerGroup } from "@weir/common/callers/caller-group";

/**
 * Longest part of a User-Agent header that is kept, in characters: enough to distinguish devices
 * in a list.
 */
const USER_AGENT_MAX_LENGTH = 100;

/** One signed-in device. All times are milliseconds since the epoch. */
export interface SessionRecord {
  readonly id: string;
  /** Counts the refresh tokens of the session; the first is 0. */
  readonly generation: number;
  /** SHA-256, in hex, of the id of the current refresh token. The token itself is never stored. */
  readonly tokenHash: string;
  /** Time of the last rotation, or null when the refresh token was never rotated. */
  readonly rotatedAtMs: number | null;
  /** Process whose clock gave that time; absent in records of earlier releases. */
  readonly rotatedBy?: string;
  /**
   * Generation of the token that caused the last rotation: during the grace, this generation and
   * later ones still get the current token. Equals `generation` before the first rotation.
   */
  readonly graceGeneration: number;
  readonly createdAtMs: number;
  /** Time of the login or of the last refresh. */
  readonly lastUsedAtMs: number;
  /** End of the session unless it is refreshed before. */
  readonly idleExpiresAtMs: number;
  /** End of the session however often it is used. */
  readonly absoluteExpiresAtMs: number;
  /** Start of the User-Agent header of the login. */
  readonly userAgent: string;
  /** Network of the login's address (/24 or /64): enough to recognise, too little to track. */
  readonly ipPrefix: string;
}

/** The device of a login. */
export interface Device {
  readonly userAgent: string;
  readonly ipPrefix: string;
}

/** How long sessions last, and how many a user may have. */
export interface SessionLimits {
  readonly idleMs: number;
  readonly absoluteMs: number;
  readonly maxSessions: number;
}

/** A session that starts at `nowMs` with the refresh token `tokenId`. */
export function createSession(
  id: string,
  tokenId: string,
  device: Device,
  nowMs: number,
  limits: SessionLimits,
): SessionRecord {
  const startMs = wholeSeconds(nowMs);
  return {
    id,
    generation: 0,
    tokenHash: hashTokenId(tokenId),
    rotatedAtMs: null,
    graceGeneration: 0,
    createdAtMs: startMs,
    lastUsedAtMs: nowMs,
    ...endsOf(startMs, startMs + limits.absoluteMs, limits),
    userAgent: device.userAgent,
    ipPrefix: device.ipPrefix,
  };
}

/** The session after a refresh at `nowMs`: its idle end moves, its absolute end does not. */
export function withUse(session: SessionRecord, nowMs: number, limits: Pick<SessionLimits, "idleMs">): SessionRecord {
  return {
    ...session,
    lastUsedAtMs: nowMs,
    ...endsOf(wholeSeconds(nowMs), session.absoluteExpiresAtMs, limits),
  };
}

/**
 * The sessions after `session` was opened at `nowMs`: ended ones go, and of too many the least
 * recently used. The newest is last.
 */
export function withSession(
  sessions: readonly SessionRecord[],
  session: SessionRecord,
  nowMs: number,
  limits: Pick<SessionLimits, "maxSessions">,
): readonly SessionRecord[] {
  const live = liveSessions(sessions, nowMs);
  const excess = Math.max(0, live.length + 1 - limits.maxSessions);
  const ended = live.toSorted((a, b) => a.lastUsedAtMs - b.lastUsedAtMs).slice(0, excess);
  return [...live.filter((other) => !ended.includes(other)), session];
}

/** The sessions without the one called `id`. */
export function withoutSession(sessions: readonly SessionRecord[], id: string | undefined): readonly SessionRecord[] {
  return sessions.filter((session) => session.id !== id);
}

/** The sessions with `session` in the place of its former state. */
export function withChanged(sessions: readonly SessionRecord[], session: SessionRecord): readonly SessionRecord[] {
  return sessions.map((other) => (other.id === session.id ? session : other));
}

/** The session called `id` if it has not ended at `nowMs`. */
export function findLiveSession(
  sessions: readonly SessionRecord[],
  id: string,
  nowMs: number,
): SessionRecord | undefined {
  return sessions.find((session) => session.id === id && isLive(session, nowMs));
}

/** The sessions that have not ended at `nowMs`. */
export function liveSessions(sessions: readonly SessionRecord[], nowMs: number): readonly SessionRecord[] {
  return sessions.filter((session) => isLive(session, nowMs));
}

/**
 * The hash of the user record's own refresh token: that of the newest session, or null without
 * sessions.
 */
export function newestTokenHash(sessions: readonly SessionRecord[]): string | null {
  return sessions.at(-1)?.tokenHash ?? null;
}

/**
 * Returns true if `tokenId` is the id of the session's current refresh token. Takes the same time for
 * every wrong id.
 */
export function isCurrentToken(session: SessionRecord, tokenId: string): boolean {
  return timingSafeEqual(Buffer.from(session.tokenHash, "hex"), Buffer.from(hashTokenId(tokenId), "hex"));
}

/**
 * The id of a session's refresh token. It follows from the session and its generation, so that the
 * very same token can be signed again from stored values when an answer was lost.
 */
export function refreshTokenId(key: KeyObject, sessionId: string, generation: number): string {
  return createHmac("sha256", key).update(`refresh-token-id|${sessionId}|${generation}`).digest("base64url");
}

/** SHA-256 of a token id, in hex: what is stored in its place. */
export function hashTokenId(tokenId: string): string {
  return createHash("sha256").update(tokenId).digest("hex");
}

/** The part of a User-Agent header that is kept. */
export function shortUserAgent(header: string | undefined): string {
  return (header ?? "").replaceAll(/\p{C}/gu, "").slice(0, USER_AGENT_MAX_LENGTH).toWellFormed();
}

/** The /24 or /64 of a caller's address; "" of a caller without one. */
export function ipPrefix({ networks }: CallerGroup): string {
  return networks.find((network) => /\/(?:24|64)$/.test(network)) ?? "";
}

/**
 * Tokens count in whole seconds; so do the ends of sessions, or a token could outlive its session
 * by a fraction.
 */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

function endsOf(
  usedAtMs: number,
  absoluteExpiresAtMs: number,
  { idleMs }: Pick<SessionLimits, "idleMs">,
): Pick<SessionRecord, "idleExpiresAtMs" | "absoluteExpiresAtMs"> {
  return { idleExpiresAtMs: Math.min(usedAtMs + idleMs, absoluteExpiresAtMs), absoluteExpiresAtMs };
}

function isLive(session: SessionRecord, nowMs: number): boolean {
  return nowMs < session.idleExpiresAtMs && nowMs < session.absoluteExpiresAtMs;
}
