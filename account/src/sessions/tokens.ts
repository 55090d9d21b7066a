// Access and refresh tokens: their claims, signature and validity (RFC 7519, RFC 8725). Pure: keys
// and time are passed in.
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import type { KeyRing, TokenKeys, VerifyKey } from "./key-ring.ts";
import { refreshTokenId } from "./session-records.ts";

/** How much the clocks of replicas may differ, in milliseconds; docs/account.md promises it. */
export const CLOCK_DIFFERENCE_MAX_MS = 60_000;

/** How long after its end a token is still accepted, in seconds. */
const EXPIRY_TOLERANCE_SECONDS = 5;

/** The claims of both tokens. */
interface CommonClaims {
  readonly userId: string;
  readonly sessionId: string;
  readonly tokenId: string;
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
}

/** The claims of an access token: user, session and time; no e-mail address, no roles. */
export type AccessClaims = CommonClaims;

/** The claims of a refresh token. */
export interface RefreshClaims extends CommonClaims {
  readonly generation: number;
}

/** A token's claims, or why it is not valid; `early` is signed by the service for a time that has not come. */
export type TokenCheck<Claims> =
  | { readonly ok: true; readonly claims: Claims }
  | { readonly ok: false; readonly reason: "expired" | "early" | "invalid" };

/** Limits and names of the tokens. */
export interface TokenOptions {
  /** `iss` of all tokens and `aud` of access tokens. */
  readonly issuer: string;
  readonly accessTtlMs: number;
  /** Longest life of a refresh token, in milliseconds. */
  readonly refreshMaxMs: number;
}

/** Signs and verifies the tokens of the service. */
export interface Tokens {
  /** The keys of refresh tokens of the moment; the ids of the tokens are made with them, too. */
  refreshKeys(): KeyRing;
  /** A token under the signing key of the moment. */
  signAccess(claims: AccessClaims): Promise<string>;
  /** A token under the key that its id was made with; the same text for the same claims. */
  signRefresh(claims: RefreshClaims): Promise<string>;
  /** Never rejects for what a caller sent. */
  verifyAccess(token: string, nowMs: number): Promise<TokenCheck<AccessClaims>>;
  /** Never rejects for what a caller sent. */
  verifyRefresh(token: string, nowMs: number): Promise<TokenCheck<RefreshClaims>>;
}

/** One use of tokens, with its header and claims. */
interface Use {
  readonly ring: KeyRing;
  readonly type: "at+jwt" | "rt+jwt";
  readonly issuer: string;
  readonly audience: string;
  readonly maxAgeSeconds: number;
}

/**
 * Tokens under the keys that `keys` returns at the time of each call, so that keys can change while
 * the service runs.
 */
export function createTokens(keys: () => TokenKeys, options: TokenOptions): Tokens {
  const issuer = options.issuer;
  const access = (): Use => ({
    ring: keys().access,
    type: "at+jwt",
    issuer,
    audience: issuer,
    maxAgeSeconds: Math.ceil(options.accessTtlMs / 1000),
  });
  const refresh = (): Use => ({
    ring: keys().refresh,
    type: "rt+jwt",
    issuer,
    audience: `${issuer}/refresh`,
    maxAgeSeconds: Math.ceil(options.refreshMaxMs / 1000),
  });
  return {
    refreshKeys: () => keys().refresh,
    signAccess: (claims) => sign(access(), keys().access.signing, claims),
    signRefresh: (claims) => sign(refresh(), makerOf(claims, keys().refresh), claims, { gen: claims.generation }),
    verifyAccess: (token, nowMs) => verify(access(), token, nowMs, readCommonClaims),
    verifyRefresh: (token, nowMs) => verify(refresh(), token, nowMs, readRefreshClaims),
  };
}

/**
 * The key that made the id of the token: its token is signed again as it was, also when another key
 * signs by now. The signing key, if none of the ring did.
 */
function makerOf({ sessionId, generation, tokenId }: RefreshClaims, { signing, verifying }: KeyRing): VerifyKey {
  const isMaker = ({ key }: VerifyKey): boolean => refreshTokenId(key, sessionId, generation) === tokenId;
  return [...verifying.values()].find(isMaker) ?? signing;
}

function sign(use: Use, { id, algorithm, key }: VerifyKey, claims: CommonClaims, further = {}): Promise<string> {
  return new SignJWT({ sid: claims.sessionId, ...further })
    .setProtectedHeader({ alg: algorithm, kid: id, typ: use.type })
    .setIssuer(use.issuer)
    .setAudience(use.audience)
    .setSubject(claims.userId)
    .setJti(claims.tokenId)
    .setIssuedAt(claims.issuedAtSeconds)
    .setExpirationTime(claims.expiresAtSeconds)
    .sign(key);
}

async function verify<Claims extends CommonClaims>(
  use: Use,
  token: string,
  nowMs: number,
  read: (payload: JWTPayload) => Claims | undefined,
): Promise<TokenCheck<Claims>> {
  try {
    const keyId = decodeProtectedHeader(token).kid;
    // The key and with it the algorithm come from the ring. jose alone would take a token without a
    // key id when one key fits.
    const key = keyId === undefined ? undefined : use.ring.verifying.get(keyId);
    if (key === undefined) return { ok: false, reason: "invalid" };
    const { payload } = await jwtVerify(token, key.key, {
      algorithms: [key.algorithm],
      typ: use.type,
      issuer: use.issuer,
      audience: use.audience,
      requiredClaims: ["sub", "sid", "jti", "iat", "exp"],
      clockTolerance: CLOCK_DIFFERENCE_MAX_MS / 1000,
      maxTokenAge: use.maxAgeSeconds,
      currentDate: new Date(nowMs),
    });
    const claims = payload.aud === use.audience ? read(payload) : undefined;
    if (claims === undefined) return { ok: false, reason: "invalid" };
    // jose has one tolerance for all times; an end needs less, or stolen tokens would last longer.
    const isExpired = claims.expiresAtSeconds <= Math.floor(nowMs / 1000) - EXPIRY_TOLERANCE_SECONDS;
    return isExpired ? { ok: false, reason: "expired" } : { ok: true, claims };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { ok: false, reason: "expired" };
    if (error instanceof errors.JWTClaimValidationFailed && isTooEarly(error)) return { ok: false, reason: "early" };
    if (error instanceof errors.JOSEError || error instanceof TypeError) return { ok: false, reason: "invalid" }; // TypeError: not a token at all.
    throw error;
  }
}

function isTooEarly({ claim, reason }: errors.JWTClaimValidationFailed): boolean {
  return reason === "check_failed" && (claim === "iat" || claim === "nbf");
}

function readCommonClaims(payload: JWTPayload): CommonClaims | undefined {
  const { sub, jti, iat, exp } = payload;
  const sid = payload["sid"];
  if (!isFilled(sub) || !isFilled(sid) || !isFilled(jti) || iat === undefined || exp === undefined) return undefined;
  return { userId: sub, sessionId: sid, tokenId: jti, issuedAtSeconds: iat, expiresAtSeconds: exp };
}

function readRefreshClaims(payload: JWTPayload): RefreshClaims | undefined {
  const common = readCommonClaims(payload);
  const generation = payload["gen"];
  if (common === undefined || typeof generation !== "number" || !Number.isSafeInteger(generation)) return undefined;
  return { ...common, generation };
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
