// Decides what a refresh token is worth: rotation, repetition within the grace, or the end of its
// session (RFC 9700 section 4.14.2). Pure; users/refresh.ts stores the result.
import {
  findLiveSession,
  hashTokenId,
  isCurrentToken,
  refreshTokenId,
  type SessionLimits,
  type SessionRecord,
  withChanged,
  withoutSession,
  withUse,
} from "./session-records.ts";
import type { KeyRing } from "./key-ring.ts";
import { CLOCK_DIFFERENCE_MAX_MS, type RefreshClaims } from "./tokens.ts";

/** How refresh tokens change. */
export interface RotationLimits extends Pick<SessionLimits, "idleMs"> {
  /** How long after a rotation the token before it still gets the current one, in milliseconds. */
  readonly graceMs: number;
  /** False keeps one refresh token for the whole session. */
  readonly isRotating: boolean;
}

/** The time, and the keys of refresh tokens of the moment. */
export interface RotationContext {
  readonly nowMs: number;
  /** Process whose clock gives the time. */
  readonly processId: string;
  readonly ring: KeyRing;
}

/** The decision about a refresh token whose signature and claims are valid. */
export type RotationDecision =
  /** A new token with the id `tokenId`, once `sessions` are stored. */
  | { readonly kind: "rotate"; readonly session: SessionRecord; readonly tokenId: string; readonly sessions: Sessions }
  /** No new token: rotation is off. The session is used, once `sessions` are stored. */
  | { readonly kind: "keep"; readonly session: SessionRecord; readonly sessions: Sessions }
  /** The current token, which has the id `tokenId`, again. Nothing is stored. */
  | { readonly kind: "repeat"; readonly session: SessionRecord; readonly tokenId: string }
  /** An old token: it was stolen, or its thief has refreshed. The session ends with `sessions`. */
  | { readonly kind: "reuse"; readonly sessions: Sessions }
  /** No such session, or it has ended. */
  | { readonly kind: "ended" }
  /** A token that the session never had. */
  | { readonly kind: "unknown" };

type Sessions = readonly SessionRecord[];

/** Decides about `token` of the user with `sessions`. */
export function decideRotation(
  sessions: Sessions,
  token: Pick<RefreshClaims, "sessionId" | "tokenId" | "generation">,
  context: RotationContext,
  limits: RotationLimits,
): RotationDecision {
  const session = findLiveSession(sessions, token.sessionId, context.nowMs);
  if (session === undefined) return { kind: "ended" };
  if (token.generation === session.generation) {
    if (!isCurrentToken(session, token.tokenId)) return { kind: "unknown" };
    if (limits.isRotating) return rotate(sessions, session, token.generation, context, limits);
    const used = withUse(session, context.nowMs, limits);
    return { kind: "keep", session: used, sessions: withChanged(sessions, used) };
  }
  // The record is older than the token: the store lost a write, or a backup was restored.
  if (token.generation > session.generation) return { kind: "unknown" };
  if (!isInGrace(session, token.generation, context, limits.graceMs))
    return { kind: "reuse", sessions: withoutSession(sessions, session.id) };
  // Another replica may have signed it with a key that only verifies here, or signs no longer.
  const tokenId = [...context.ring.verifying.values()]
    .map(({ key }) => refreshTokenId(key, session.id, session.generation))
    .find((id) => isCurrentToken(session, id));
  if (tokenId !== undefined) return { kind: "repeat", session, tokenId };
  // Its key is gone, so the current token cannot be signed again.
  return rotate(sessions, session, token.generation, context, limits);
}

/** Replaces the current token, because one of `askedGeneration` asked. */
function rotate(
  sessions: Sessions,
  session: SessionRecord,
  askedGeneration: number,
  { nowMs, processId, ring }: RotationContext,
  limits: RotationLimits,
): RotationDecision {
  const generation = session.generation + 1;
  const tokenId = refreshTokenId(ring.signing.key, session.id, generation);
  const rotated: SessionRecord = {
    ...withUse(session, nowMs, limits),
    generation,
    tokenHash: hashTokenId(tokenId),
    rotatedAtMs: nowMs,
    rotatedBy: processId,
    graceGeneration: askedGeneration,
  };
  return { kind: "rotate", session: rotated, tokenId, sessions: withChanged(sessions, rotated) };
}

/** Replicas' clocks differ, so a rotation by another one may be later than its time says, or in the future. */
function isInGrace(
  session: SessionRecord,
  generation: number,
  { nowMs, processId }: RotationContext,
  graceMs: number,
): boolean {
  if (graceMs === 0 || session.rotatedAtMs === null || generation < session.graceGeneration) return false;
  const differenceMaxMs = session.rotatedBy === processId ? 0 : CLOCK_DIFFERENCE_MAX_MS;
  return nowMs - session.rotatedAtMs <= graceMs + differenceMaxMs;
}
