// Reads the certificates and tokens for a connection. They are read for every connection: those of
// a cluster expire within an hour or a day, and a watch may last longer.
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

import { describeError } from "@weir/common/errors/service-error";
import { clientContext } from "@weir/common/tls/client-context";
import { checkTlsMaterial, readTlsMaterial } from "@weir/common/tls/tls-material";

import type { ServerAccess } from "./server-access.ts";

/** Largest token, in bytes: servers accept no longer headers. */
const TOKEN_MAX_BYTES = 16 * 1024;

/** The credentials of a request. */
export interface Credentials {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** For https only. */
  readonly secureContext?: SecureContext;
}

/** Reads the token of a pipe, as of `--token-file <(…)`, only once; a text is the problem. */
export function readPipedToken(access: ServerAccess): ServerAccess | string {
  const { tokenFile } = access;
  try {
    if (tokenFile === undefined || statSync(tokenFile, { throwIfNoEntry: false })?.isFile() !== false) return access;
    return { ...access, token: readToken(tokenFile) };
  } catch (error) {
    return describeError(error);
  }
}

/** Reads the credentials for a URL; a text is the problem with a file. */
export function readCredentials(access: ServerAccess, url: string): Credentials | string {
  try {
    const token = access.token ?? (access.tokenFile === undefined ? undefined : readToken(access.tokenFile));
    const bearer = token === undefined ? [] : [["authorization", `Bearer ${token}`] as const];
    const headers = [...access.headers, ...bearer];
    return url.startsWith("https:") ? { headers, secureContext: readContext(access) } : { headers };
  } catch (error) {
    return describeError(error);
  }
}

function readContext({ caFile, certFile, keyFile }: ServerAccess): SecureContext {
  const paths = {
    ...(caFile !== undefined && { caPath: caFile }),
    ...(certFile !== undefined && { certPath: certFile }),
    ...(keyFile !== undefined && { keyPath: keyFile }),
  };
  const material = readTlsMaterial(paths);
  checkTlsMaterial(material, paths);
  // An authority on the command line is the only one that is trusted, as with kubectl and curl.
  return caFile === undefined ? clientContext(material) : createSecureContext({ ...material, minVersion: "TLSv1.2" });
}

function readToken(path: string): string {
  const failure = (reason: string): Error => new Error(`Cannot use the token file ${path}: ${reason}`);
  let text: string;
  try {
    text = readSmall(path);
  } catch (error) {
    throw failure(describeError(error));
  }
  const token = text.trim();
  if (token === "") throw failure("it is empty");
  // The characters of RFC 6750. The content is not shown: it may be a secret.
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(token))
    throw failure("it must hold one token of letters, digits and -._~+/ and nothing else");
  return token;
}

function readSmall(path: string): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    if (size > TOKEN_MAX_BYTES) throw new RangeError(`it has ${size} bytes, at most ${TOKEN_MAX_BYTES} are read`);
    // A pipe has no size, and perhaps no end.
    const bytes = Buffer.alloc(TOKEN_MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, { offset: length });
    if (length > TOKEN_MAX_BYTES) throw new RangeError(`it has more than the ${TOKEN_MAX_BYTES} bytes that are read`);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}
