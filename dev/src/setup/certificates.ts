// The development certificates of the local stack: a throw-away authority, one certificate for the
// control plane's ADS server and one for the pods. Not for production: the key is in the same folder.
import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Authority } from "@weir/certificates/authority";
import { createAuthority, loadAuthority } from "@weir/certificates/authority";
import { makeFolder } from "@weir/common/files/make-folder";

/** Validity of the authority and of the certificates, in days. */
const VALID_DAYS = { authority: 365, leaf: 90 } as const;

/** Remaining validity at which a certificate is renewed, in days. */
const RENEW_DAYS = { authority: 100, leaf: 14 } as const;

const DAY_MS = 24 * 60 * 60 * 1000;

const AUTHORITY_NAME = "Weir development authority";

/** Paths of one certificate and its key. */
export interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
}

/** Paths of the development certificates, and the names of those that were just made. */
export interface DevelopmentCertificates {
  readonly ca: CertificatePaths;
  readonly controlPlane: CertificatePaths;
  readonly rateLimit: CertificatePaths;
  readonly renewed: readonly string[];
}

/** Names that a certificate must carry. */
interface Subject {
  readonly file: string;
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly usage: "server" | "client";
}

/** The DNS name in the certificate of rate limit pods, by which the control plane knows them. */
export const RATE_LIMIT_NAME = "ratelimit.weir.local";

/**
 * Makes the certificates in `directory` that are missing, damaged, about to end or for other names.
 * `hostNames` are the names and addresses of the control plane.
 */
export async function ensureCertificates(
  directory: string,
  options: { readonly hostNames: readonly string[]; readonly now: Date },
): Promise<DevelopmentCertificates> {
  makeFolder(directory, { mode: 0o700 });
  const renewed: string[] = [];
  const ca = pathsOf(directory, "ca");
  let authority = await readAuthority(ca, options.now);
  if (authority === undefined) {
    authority = await createAuthority({
      commonName: AUTHORITY_NAME,
      now: options.now,
      validDays: VALID_DAYS.authority,
    });
    writePair(ca, authority);
    renewed.push("authority");
  }
  const isAddress = (name: string): boolean => /^[\d.]+$|:/.test(name);
  const controlPlane = await ensureLeaf(authority, directory, options.now, renewed, {
    file: "control-plane",
    commonName: "control plane",
    dnsNames: options.hostNames.filter((name) => !isAddress(name)),
    ipAddresses: options.hostNames.filter(isAddress),
    usage: "server",
  });
  const rateLimit = await ensureLeaf(authority, directory, options.now, renewed, {
    file: "ratelimit",
    commonName: "ratelimit",
    dnsNames: [RATE_LIMIT_NAME],
    ipAddresses: [],
    usage: "client",
  });
  return { ca, controlPlane, rateLimit, renewed };
}

async function readAuthority(paths: CertificatePaths, now: Date): Promise<Authority | undefined> {
  const certificate = readPair(paths);
  if (certificate === undefined || endsWithin(certificate, RENEW_DAYS.authority, now)) return undefined;
  return loadAuthority(readFileSync(paths.cert, "utf8"), readFileSync(paths.key, "utf8"));
}

async function ensureLeaf(
  authority: Authority,
  directory: string,
  now: Date,
  renewed: string[],
  subject: Subject,
): Promise<CertificatePaths> {
  const paths = pathsOf(directory, subject.file);
  if (!isGood(readPair(paths), authority, subject, now)) {
    writePair(paths, await authority.issue({ ...subject, now, validDays: VALID_DAYS.leaf }));
    renewed.push(subject.commonName);
  }
  return paths;
}

function isGood(certificate: X509Certificate | undefined, authority: Authority, subject: Subject, now: Date): boolean {
  if (certificate === undefined || endsWithin(certificate, RENEW_DAYS.leaf, now)) return false;
  if (!certificate.verify(new X509Certificate(authority.certPem).publicKey)) return false;
  const wanted = [
    ...subject.dnsNames.map((name) => `DNS:${name}`),
    ...subject.ipAddresses.map((address) => `IP Address:${address}`),
  ];
  const present = (certificate.subjectAltName ?? "").split(", ");
  return wanted.length === present.length && wanted.every((name) => present.includes(name));
}

// A pair that cannot be read, or whose halves do not belong together, counts as missing.
function readPair(paths: CertificatePaths): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(readFileSync(paths.cert));
    return certificate.checkPrivateKey(createPrivateKey(readFileSync(paths.key))) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

function endsWithin(certificate: X509Certificate, days: number, now: Date): boolean {
  const startsLater = Date.parse(certificate.validFrom) > now.getTime();
  return startsLater || Date.parse(certificate.validTo) - now.getTime() < days * DAY_MS;
}

function writePair(paths: CertificatePaths, pair: { readonly certPem: string; readonly keyPem: string }): void {
  writeWhole(paths.key, pair.keyPem);
  writeWhole(paths.cert, pair.certPem);
}

// Writes a partial file and renames it, so that no program reads half of it. Only the owner can read
// a key.
function writeWhole(path: string, text: string): void {
  const partial = `${path}.partial`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, path);
}

function pathsOf(directory: string, file: string): CertificatePaths {
  return { cert: join(directory, `${file}.crt`), key: join(directory, `${file}.key`) };
}
