// Protects the listener for pods, and decides by the names in a client certificate which calls are
// allowed. TLS checks before that the certificate is genuine.

import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { GrpcStatus } from "@weir/http2/grpc/status";

import { alternativeNames } from "./alternative-names.ts";
import type { AdsPeer } from "./ads-peer.ts";

/** Most names of a certificate that an answer and the log show, and their length, in characters. */
const NAMES_SHOWN_MAX = 5;
const NAME_SHOWN_MAX = 100;

/** How connections are protected: by mutual TLS, or not at all where the settings say so. */
export type AdsSecurity =
  | {
      readonly kind: "mutual-tls";
      readonly files: TlsFiles;
      /** A client certificate must have one of these names; empty allows all of the authority. */
      readonly allowedNames: readonly string[];
      /** True if the namespace and the fleet of a pod are those of its certificate. */
      readonly isFleetFromCertificate?: boolean;
      /** Names for reports, of which an empty list allows none; undefined: the same as for pods. */
      readonly reportNames?: readonly string[] | undefined;
    }
  | { readonly kind: "plaintext" };

/** Why a call is refused. */
export interface CallRefusal {
  /** The gRPC status. */
  readonly code: number;
  readonly details: string;
}

/** Refuses a client whose certificate has no allowed name. */
export function nameRefusal(peer: AdsPeer, security: AdsSecurity, warnings: RateLimitedLog): CallRefusal | undefined {
  if (security.kind === "plaintext") return undefined;
  const names = alternativeNames(peer.certificate);
  if (isAllowed(names, security.allowedNames)) return undefined;
  const shown = showNames(names);
  warnings.warn("Refused a pod, no name in its certificate is among ADS_ALLOWED_SANS", {
    peer: peer.address,
    names: shown,
    allowed: security.allowedNames.join(", "),
  });
  return {
    code: GrpcStatus.PERMISSION_DENIED,
    details: `no name in the client certificate is allowed here, its names are: ${shown}`,
  };
}

/** Refuses reports to a client whose certificate has no name that allows them. */
export function reportRefusal(peer: AdsPeer, security: AdsSecurity, warnings: RateLimitedLog): CallRefusal | undefined {
  if (security.kind === "plaintext" || security.reportNames === undefined) return nameRefusal(peer, security, warnings);
  const { reportNames } = security;
  const names = alternativeNames(peer.certificate);
  if (reportNames.length > 0 && isAllowed(names, reportNames)) return undefined;
  const shown = showNames(names);
  warnings.warn("Refused a request for reports, no name in the client certificate is among ADS_REPORT_SANS", {
    peer: peer.address,
    names: shown,
    allowed: reportNames.join(", "),
  });
  return {
    code: GrpcStatus.PERMISSION_DENIED,
    details: `reports need a client certificate with a name in ADS_REPORT_SANS, its names are: ${shown}`,
  };
}

/** Returns true if one of the names is allowed; an empty list allows all. Host names ignore letter case. */
export function isAllowed(names: readonly string[], allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const wanted = new Set(allowed.map(comparable));
  return names.some((name) => wanted.has(comparable(name)));
}

/** Only host names ignore letter case; the path of a URI does not. */
function comparable(name: string): string {
  return name.includes("/") ? name : name.toLowerCase();
}

/** Names for answers and the log, cut to a few. */
export function showNames(names: readonly string[]): string {
  const shown = names
    .slice(0, NAMES_SHOWN_MAX)
    .map((name) => (name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX)}…` : name));
  if (shown.length === 0) return "none";
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}
