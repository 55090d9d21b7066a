// Reads certificate, key and CA files once, and reports precisely what is wrong with them.
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

import { describeError, ServiceError } from "../errors/service-error.ts";

/** Largest file that is read, in bytes: a bundle of all public authorities has about 200 KiB. */
const FILE_MAX_BYTES = 2 * 1024 * 1024;

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Paths of the files; a certificate needs its key and the other way round. */
export interface TlsFilePaths {
  /** Certificate chain, PEM, the process's own certificate first. */
  readonly certPath?: string | undefined;
  /** Private key of the first certificate, PEM, not encrypted. */
  readonly keyPath?: string | undefined;
  /** Certificates of the authorities to trust, PEM, one or many. */
  readonly caPath?: string | undefined;
}

/** The contents of the files, PEM. */
export interface TlsMaterial {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
}

/**
 * Reads the files; fails with TLS_FILE_INVALID. Synchronous: the files are small and local, and
 * callers need the result immediately.
 */
export function readTlsMaterial(paths: TlsFilePaths): TlsMaterial {
  return {
    ...(paths.certPath !== undefined && { cert: readTlsFile("certificate", paths.certPath) }),
    ...(paths.keyPath !== undefined && { key: readTlsFile("private key", paths.keyPath) }),
    ...(paths.caPath !== undefined && { ca: readTlsFile("CA certificate", paths.caPath) }),
  };
}

/**
 * Fails with TLS_FILE_INVALID, naming the file, unless every file parses, the key belongs to the
 * certificate, and TLS accepts the whole.
 */
export function checkTlsMaterial(material: TlsMaterial, paths: TlsFilePaths): void {
  const { certPath = "", keyPath = "", caPath = "" } = paths;
  if (material.cert !== undefined && material.key === undefined)
    throw invalid("certificate", certPath, "no private key is given for it");
  if (material.key !== undefined && material.cert === undefined)
    throw invalid("private key", keyPath, "no certificate is given for it");
  if (material.cert !== undefined && material.key !== undefined) {
    const [leaf] = parseCertificates("certificate", certPath, material.cert);
    if (!leaf.checkPrivateKey(parseKey(keyPath, material.key))) {
      throw invalid("private key", keyPath, `it does not belong to the certificate ${certPath}`);
    }
  }
  if (material.ca !== undefined) parseCertificates("CA certificate", caPath, material.ca);
  try {
    createSecureContext({ ...material });
  } catch (cause) {
    throw invalid("certificate", certPath || caPath, describeError(cause), cause);
  }
}

function readTlsFile(what: string, path: string): Buffer {
  let content: Buffer;
  try {
    content = readBounded(path);
  } catch (cause) {
    throw invalid(what, path, describeError(cause), cause);
  }
  if (content.length === 0) throw invalid(what, path, "the file is empty");
  return content;
}

/**
 * Checks and reads one descriptor, so that a file which is replaced in between cannot evade the
 * bound.
 */
function readBounded(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new TypeError("it is not a file");
    if (stat.size > FILE_MAX_BYTES)
      throw new RangeError(`it is larger than ${FILE_MAX_BYTES} bytes, current size is ${stat.size}`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function parseCertificates(what: string, path: string, pem: Buffer): readonly [X509Certificate, ...X509Certificate[]] {
  const blocks = pem.toString("latin1").match(PEM_CERTIFICATE) ?? [];
  const certificates = blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw invalid(what, path, `certificate number ${index + 1} in it does not parse`, cause);
    }
  });
  const [first, ...rest] = certificates;
  if (first === undefined) throw invalid(what, path, "it holds no PEM block BEGIN CERTIFICATE");
  return [first, ...rest];
}

function parseKey(path: string, pem: Buffer): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    // The message of the parser is of no help, and a key file must not be quoted.
    throw invalid("private key", path, "it is not a PEM private key without passphrase", cause);
  }
}

function invalid(what: string, path: string, reason: string, cause?: unknown): ServiceError<"TLS_FILE_INVALID"> {
  return new ServiceError("TLS_FILE_INVALID", `Cannot use the ${what} file ${path}: ${reason}`, { cause });
}
