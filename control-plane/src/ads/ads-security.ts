// Protects the listener for pods, and decides by the names in a client certificate which calls are
// allowed. TLS checks before that the certificate is genuine.
import type { PeerCertificate } from "node:tls";

import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { TlsFiles } from "@weir/common/tls/tls-files";

import type { LimitedLog } from "./limited-log.ts";

/** Most names of a certificate that an answer and the log show, and their length, in characters. */
const NAMES_SHOWN_MAX = 5;
const NAME_SHOWN_MAX = 100;

/**
 * How Node writes the extension: names separated by ", ", each with its kind. A name that contains
 * a comma or a quote is written as a JSON string, so that it cannot pass as two names.
 */
const NAME = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const NAMES = new RegExp(`^${NAME.source}(?:,${NAME.source})*$`);

/** How connections are protected: by mutual TLS, or not at all where the settings say so. */
export type AdsSecurity =
  | {
      readonly kind: "mutual-tls";
      readonly files: TlsFiles;
      /** A client certificate must have one of these names; empty allows all of the authority. */
      readonly allowedNames: readonly string[];
    }
  | { readonly kind: "plaintext" };

/** Why a call is refused. */
export interface CallRefusal {
  readonly code: status;
  readonly details: string;
}

/** Refuses a call whose certificate has no allowed name. */
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

/** The names in a certificate's subjectAltName, without their kind; none if it is malformed. */
export function alternativeNames(certificate: Pick<PeerCertificate, "subjectaltname"> | undefined): readonly string[] {
  const text = certificate?.subjectaltname ?? "";
  if (!NAMES.test(text)) return [];
  return [...text.matchAll(NAME)].flatMap(([entry]) => nameOf(entry.trim()));
}

/** Whether one of the names is allowed; an empty list allows all. Host names ignore letter case. */
export function isAllowed(names: readonly string[], allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const wanted = new Set(allowed.map(comparable));
  return names.some((name) => wanted.has(comparable(name)));
}

function nameOf(entry: string): readonly string[] {
  const colon = entry.indexOf(":");
  if (colon === -1) return [];
  const written = entry.slice(colon + 1);
  if (!written.startsWith('"')) return [written];
  try {
    return [JSON.parse(written) as string];
  } catch {
    return []; // No setting can allow such a name.
  }
}

/** Only host names ignore letter case; the path of a URI does not. */
function comparable(name: string): string {
  return name.includes("/") ? name : name.toLowerCase();
}

function showNames(names: readonly string[]): string {
  const shown = names
    .slice(0, NAMES_SHOWN_MAX)
    .map((name) => (name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX)}…` : name));
  if (shown.length === 0) return "none";
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}
