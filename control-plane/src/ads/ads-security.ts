// How the listener for pods is protected, and which certificates may use it. What the names in a certificate are is allowed-names.ts's.
import { experimental, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import { createGrpcCertificateProvider } from "@weir/common/tls/grpc-certificate-provider";
import type { TlsFiles } from "@weir/common/tls/tls-files";

import { alternativeNames, isAllowed } from "./allowed-names.ts";

/** How connections are protected: mutual TLS, or nothing at all where somebody asked for that by name. */
export type AdsSecurity =
  | {
      readonly kind: "mutual-tls";
      readonly files: TlsFiles;
      /** Names of which a client certificate must have one; empty allows every certificate of the authority. */
      readonly allowedNames: readonly string[];
    }
  | { readonly kind: "plaintext" };

/** Why a call is not let in. */
export interface CallRefusal {
  readonly code: status;
  readonly details: string;
}

/**
 * How the listener is opened. A handshake that fails leaves no line in the log: grpc-js 1.14 keeps the TLS server, and with it the event that would tell, to
 * itself. The client sees the reason.
 */
export function credentialsOf(security: AdsSecurity): ServerCredentials {
  if (security.kind === "plaintext") return ServerCredentials.createInsecure();
  const provider = createGrpcCertificateProvider(security.files);
  // Both providers are the same object, so that it does not matter in which order grpc-js takes them.
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

/** Refuses a call whose certificate has no allowed name. That the certificate is genuine was checked in the handshake. */
export function nameRefusal(
  call: Pick<ServerDuplexStream<unknown, unknown>, "getPeer" | "getAuthContext">,
  security: AdsSecurity,
  log: Log,
): CallRefusal | undefined {
  if (security.kind === "plaintext") return undefined;
  const names = alternativeNames(call.getAuthContext().sslPeerCertificate);
  if (isAllowed(names, security.allowedNames)) return undefined;
  const shown = names.length === 0 ? "none" : names.join(", ");
  log.warn("Refused a pod, no name in its certificate is among ADS_ALLOWED_SANS", {
    peer: call.getPeer(),
    names: shown,
    allowed: security.allowedNames.join(", "),
  });
  return { code: status.PERMISSION_DENIED, details: `no name in the client certificate is allowed here, its names are: ${shown}` };
}
