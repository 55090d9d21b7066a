// How the listener for pods is protected, and which certificates may use it. What the names in a
// certificate are is allowed-names.ts's.
import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { TlsFiles } from "@weir/common/tls/tls-files";

import { alternativeNames, isAllowed } from "./allowed-names.ts";
import type { LimitedLog } from "./limited-log.ts";

/**
 * Most names of a certificate that are told, and their length, in characters: they travel in a
 * header, and stand in the log.
 */
const NAMES_SHOWN_MAX = 5;
const NAME_SHOWN_MAX = 100;

/**
 * How connections are protected: mutual TLS, or nothing at all where somebody asked for that by
 * name.
 */
export type AdsSecurity =
  | {
      readonly kind: "mutual-tls";
      readonly files: TlsFiles;
      /**
       * Names of which a client certificate must have one; empty allows every certificate of the
       * authority.
       */
      readonly allowedNames: readonly string[];
    }
  | { readonly kind: "plaintext" };

/** Why a call is not let in. */
export interface CallRefusal {
  readonly code: status;
  readonly details: string;
}

/**
 * Refuses a call whose certificate has no allowed name. That the certificate is genuine was checked
 * in the handshake.
 */
export function nameRefusal(
  call: Pick<ServerDuplexStream<unknown, unknown>, "getPeer" | "getAuthContext">,
  security: AdsSecurity,
  warnings: LimitedLog,
): CallRefusal | undefined {
  if (security.kind === "plaintext") return undefined;
  const names = alternativeNames(call.getAuthContext().sslPeerCertificate);
  if (isAllowed(names, security.allowedNames)) return undefined;
  const shown = showNames(names);
  warnings.warn("Refused a pod, no name in its certificate is among ADS_ALLOWED_SANS", {
    peer: call.getPeer(),
    names: shown,
    allowed: security.allowedNames.join(", "),
  });
  return {
    code: status.PERMISSION_DENIED,
    details: `no name in the client certificate is allowed here, its names are: ${shown}`,
  };
}

function showNames(names: readonly string[]): string {
  const shown = names
    .slice(0, NAMES_SHOWN_MAX)
    .map((name) => (name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX)}…` : name));
  if (shown.length === 0) return "none";
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}
