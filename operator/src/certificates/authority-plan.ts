// Decides the next step of the authority, from the content of its Secret and the time. Pure.
//
// Authorities follow each other in steps, so that no process meets a certificate of an authority
// that it cannot know yet: the next one is made and goes into every bundle; when every Secret has had
// it for a while, it signs; the one before stays in the bundles to its own end, because no
// certificate outlives the authority that signed it.
import type { CertificatePair } from "@weir/certificates/authority";
import { canSign, type CertificateDetails, isKeyOf, readCertificates } from "@weir/certificates/inspect";

import { BUNDLE_KEY, type SecretData, type StoredSecret } from "./certificate-secret.ts";

/** When every Secret was first seen with the next authority, as an ISO time. */
const TRUSTED_SINCE = "ratelimit.weir.dev/next-trusted-since";

/** Most authorities in a bundle besides the present and the next one; the oldest are left out. */
const OTHERS_MAX = 4;

/** Part of its life after which a certificate is renewed. */
const RENEWAL_RATIO = 2 / 3;

/**
 * How long the next authority waits for Secrets that cannot be written, in milliseconds: one namespace
 * must not delay all others until the authority ends.
 */
const PATIENCE_MS = 30 * 86_400_000;

/** An authority with its key. */
export interface KnownAuthority extends CertificatePair {
  readonly details: CertificateDetails;
}

/** The content of the authority's Secret. */
export interface AuthorityState {
  /** Signs certificates; undefined: there is none that can be used. */
  readonly present: KnownAuthority | undefined;
  /** Signs next. */
  readonly next: KnownAuthority | undefined;
  /** When every Secret was first seen with the next one, in milliseconds since the epoch. */
  readonly nextTrustedSinceMs: number | undefined;
  /** Certificates, PEM, of earlier authorities that are still valid. */
  readonly others: readonly string[];
  /** Why there is no present one although there is a Secret; undefined: nothing is wrong. */
  readonly fault: string | undefined;
}

/** The next step of the authority. */
export type AuthorityStep =
  | { readonly kind: "keep" }
  /** Make one that signs immediately. */
  | { readonly kind: "create"; readonly reason: string }
  /** Make the next one. */
  | { readonly kind: "introduce" }
  /** Note that every Secret has the next one now. */
  | { readonly kind: "note-trust" }
  /** Let the next one sign. */
  | { readonly kind: "promote" };

/** Times that the validity of a certificate is compared with, in milliseconds since the epoch. */
export interface KnownTimes {
  /** By the clock of this process. */
  readonly nowMs: number;
  /** When the Secret was written last, by the clock of the API server. */
  readonly writtenMs: number | undefined;
}

/** Reads the Secret; undefined: there is none. */
export function readAuthority(secret: StoredSecret | undefined, nowMs: number): AuthorityState {
  const { data = {}, annotations = {}, writtenMs } = secret ?? {};
  const times = { nowMs, writtenMs };
  const present = readKnown(data, "tls");
  const next = readKnown(data, "next");
  const sinceMs = Date.parse(annotations[TRUSTED_SINCE] ?? "");
  const [usable, usableNext] = [present, next].map((each) =>
    typeof each === "object" && reasonNotUsable(each.details, times) === undefined ? each : undefined,
  );
  return {
    present: usable,
    next: usableNext,
    nextTrustedSinceMs: Number.isNaN(sinceMs) ? undefined : sinceMs,
    others: othersOf(data, [usable, usableNext], nowMs),
    fault:
      secret === undefined || usable !== undefined
        ? undefined
        : typeof present === "string"
          ? present
          : reasonNotUsable(present.details, times),
  };
}

/** The next step. `isNextTrusted`: every Secret has the certificate of the next authority. */
export function authorityStep(
  state: AuthorityState,
  {
    isNextTrusted,
    nowMs,
    settleMs,
  }: { readonly isNextTrusted: boolean; readonly nowMs: number; readonly settleMs: number },
): AuthorityStep {
  const { present, next, nextTrustedSinceMs } = state;
  if (present === undefined)
    return next === undefined ? { kind: "create", reason: state.fault ?? "there is none" } : { kind: "promote" };
  if (next === undefined) return isDue(present.details, nowMs) ? { kind: "introduce" } : { kind: "keep" };
  // The clock was set back: when the next one was trusted everywhere cannot be known.
  if (nowMs < next.details.validFromMs) return { kind: "keep" };
  if (nowMs >= next.details.validFromMs + PATIENCE_MS) return { kind: "promote" };
  // A time in the future is that of a clock that was set back.
  if (nextTrustedSinceMs === undefined || nextTrustedSinceMs > nowMs)
    return isNextTrusted ? { kind: "note-trust" } : { kind: "keep" };
  return isNextTrusted && nowMs >= nextTrustedSinceMs + settleMs ? { kind: "promote" } : { kind: "keep" };
}

/** The state after a step; `made` is the authority that "create" and "introduce" ask for. */
export function afterStep(
  state: AuthorityState,
  step: AuthorityStep,
  made: CertificatePair | undefined,
  nowMs: number,
): AuthorityState {
  const known = made === undefined ? undefined : knownOf(made);
  switch (step.kind) {
    case "keep":
      return state;
    case "create":
      return { ...state, present: known, fault: undefined };
    case "introduce":
      return { ...state, next: known, nextTrustedSinceMs: undefined };
    case "note-trust":
      return { ...state, nextTrustedSinceMs: nowMs };
    case "promote": {
      const before = state.present === undefined ? [] : [state.present.certPem];
      return {
        present: state.next,
        next: undefined,
        nextTrustedSinceMs: undefined,
        others: [...before, ...state.others].slice(0, OTHERS_MAX),
        fault: undefined,
      };
    }
  }
}

/** The certificates that everyone trusts, PEM. */
export function bundleOf({ present, next, others }: AuthorityState): string {
  return [present?.certPem, next?.certPem, ...others].filter((pem) => pem !== undefined).join("");
}

/** The content of the Secret. */
export function authorityData(state: AuthorityState): {
  readonly data: SecretData;
  readonly annotations: Readonly<Record<string, string>>;
} {
  const { present, next, nextTrustedSinceMs } = state;
  return {
    data: {
      ...(present !== undefined && { "tls.crt": present.certPem, "tls.key": present.keyPem }),
      ...(next !== undefined && { "next.crt": next.certPem, "next.key": next.keyPem }),
      [BUNDLE_KEY]: bundleOf(state),
    },
    annotations:
      next === undefined || nextTrustedSinceMs === undefined
        ? {}
        : { [TRUSTED_SINCE]: new Date(nextTrustedSinceMs).toISOString() },
  };
}

/** Returns true if a certificate is in the last third of its life, or beyond. */
export function isDue({ validFromMs, validToMs }: CertificateDetails, nowMs: number): boolean {
  return nowMs >= validFromMs + (validToMs - validFromMs) * RENEWAL_RATIO;
}

/**
 * Why a certificate is not valid; undefined when it is. One that is not valid yet by the clock of this
 * process is good: its issuer was right and this clock was set back. Unless it begins after the API server
 * took it: then the clock of its issuer was ahead.
 */
export function reasonNotValid(
  { validFromMs, validToMs }: CertificateDetails,
  { nowMs, writtenMs = Infinity }: KnownTimes,
): string | undefined {
  if (nowMs > validToMs) return `it has expired at ${new Date(validToMs).toISOString()}`;
  if (nowMs >= validFromMs || validFromMs <= writtenMs) return undefined;
  return `it was issued by a clock that was ahead, and is not valid before ${new Date(validFromMs).toISOString()}`;
}

function reasonNotUsable(details: CertificateDetails, times: KnownTimes): string | undefined {
  return details.isAuthority ? reasonNotValid(details, times) : "its certificate is not one of an authority";
}

function readKnown(data: SecretData, name: "tls" | "next"): KnownAuthority | string {
  const [certPem, keyPem] = [data[`${name}.crt`], data[`${name}.key`]];
  if (certPem === undefined || keyPem === undefined) return `${name}.crt or ${name}.key is missing`;
  const [details, ...more] = readCertificates(certPem);
  if (details === undefined || more.length > 0) return `${name}.crt is not one certificate in PEM`;
  if (!isKeyOf(details, keyPem)) return `${name}.key does not belong to ${name}.crt`;
  if (!canSign(keyPem)) return `${name}.key is not an ECDSA key on P-256`;
  return { certPem: details.pem, keyPem, details };
}

function knownOf(pair: CertificatePair): KnownAuthority {
  const [details] = readCertificates(pair.certPem);
  if (details === undefined) throw new Error("A certificate that was just made does not parse");
  return { ...pair, certPem: details.pem, details };
}

/** The authorities of the bundle, and of a pair whose key is lost: what they signed is still in use. */
function othersOf(data: SecretData, usable: readonly (KnownAuthority | undefined)[], nowMs: number): readonly string[] {
  const known = new Set(usable.map((each) => each?.details.pem));
  const valid = readCertificates([BUNDLE_KEY, "tls.crt", "next.crt"].map((key) => data[key] ?? "").join("\n"))
    .filter((details) => details.isAuthority && nowMs <= details.validToMs && !known.has(details.pem))
    .map(({ pem }) => pem);
  return [...new Set(valid)].slice(0, OTHERS_MAX);
}
