// Reads the settings of TLS files.
import type { EnvReader, Names } from "../settings/read-env.ts";
import type { TlsFilePaths } from "./tls-material.ts";

interface FileSetting {
  readonly names: Names;
  readonly effect: string;
}

/** Reads the paths of a certificate, its key and an authority. */
export function readTlsPaths(
  read: EnvReader,
  { cert, key, ca }: Readonly<Record<"cert" | "key" | "ca", FileSetting>>,
): TlsFilePaths {
  const path = ({ names, effect }: FileSetting): string | undefined => read.optionalString(names, { effect });
  return { certPath: path(cert), keyPath: path(key), caPath: path(ca) };
}

/** Reports a certificate without its key, or a key without its certificate. */
export function checkCertificatePair(
  read: EnvReader,
  { certPath, keyPath }: TlsFilePaths,
  names: { readonly cert: Names; readonly key: Names },
): void {
  if ((certPath === undefined) === (keyPath === undefined)) return;
  const missing = certPath === undefined ? names.cert : names.key;
  read.problem(missing, undefined, "the path of a file: certificate and key are given together or not at all");
}
