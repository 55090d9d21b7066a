// A certificate authority that makes its own certificate and issues server and client certificates.
import { createPrivateKey, KeyObject, webcrypto, X509Certificate as NodeCertificate } from "node:crypto";

import "reflect-metadata"; // A peer dependency of @peculiar/x509.
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { USAGES } from "./usages.ts";

const DAY_MS = 86_400_000;

/**
 * The time before its issue from which a certificate is valid, in milliseconds, for peers whose
 * clock is slow.
 */
const CLOCK_SKEW_MS = 5 * 60_000;

/** ECDSA with P-256 and SHA-256: small, fast, and accepted by every TLS library. */
const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNING_ALGORITHM = { name: "ECDSA", hash: "SHA-256" } as const;

/** A certificate and its private key (PKCS #8), both PEM. */
export interface CertificatePair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Options of a new authority. */
export interface AuthorityOptions {
  readonly commonName: string;
  readonly now: Date;
  readonly validDays: number;
}

/** Options of a certificate; one for a server needs at least one DNS name or IP address. */
export interface IssueOptions {
  readonly commonName: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Names such as `spiffe://weir/control-plane`. */
  readonly uris?: readonly string[];
  readonly usage: "server" | "client" | "both";
  readonly now: Date;
  /** At most to the end of the authority's own certificate. */
  readonly validDays: number;
}

/** Makes a new authority. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [options.commonName] }],
    keys,
    ...validity(options),
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return new Authority(certificate, keys.privateKey);
}

/**
 * The authority of a certificate and key that {@link createAuthority} made before; fails with
 * AUTHORITY_INVALID.
 */
export async function loadAuthority(certPem: string, keyPem: string): Promise<Authority> {
  try {
    const key = createPrivateKey(keyPem);
    const certificate = new NodeCertificate(certPem);
    if (!certificate.ca) throw new TypeError("the certificate is not one of an authority");
    if (!certificate.checkPrivateKey(key)) throw new TypeError("the key does not belong to the certificate");
    if (!isAuthorityKey(key)) throw new TypeError("the key is not an ECDSA key on P-256");
    return new Authority(new X509Certificate(certPem), key.toCryptoKey(KEY_ALGORITHM, true, ["sign"]));
  } catch (cause) {
    throw new ServiceError("AUTHORITY_INVALID", `Cannot load the certificate authority: ${describeError(cause)}`, {
      cause,
    });
  }
}

/** Returns true if {@link loadAuthority} can sign with such a key. */
export function isAuthorityKey(key: KeyObject): boolean {
  return key.asymmetricKeyDetails?.namedCurve === "prime256v1";
}

/** An authority with its key. */
export class Authority implements CertificatePair {
  readonly certPem: string;
  readonly keyPem: string;
  readonly #certificate: X509Certificate;
  readonly #key: webcrypto.CryptoKey;

  constructor(certificate: X509Certificate, key: webcrypto.CryptoKey) {
    this.#certificate = certificate;
    this.#key = key;
    this.certPem = pemOf(certificate);
    this.keyPem = keyPemOf(key);
  }

  /** Makes a key and a certificate for it. */
  async issue(options: IssueOptions): Promise<CertificatePair> {
    const names = alternativeNames(options);
    const keys = await generateKeys();
    const { notBefore, notAfter } = validity(options);
    const certificate = await X509CertificateGenerator.create({
      subject: [{ CN: [options.commonName] }],
      issuer: this.#certificate.subjectName,
      publicKey: keys.publicKey,
      signingKey: this.#key,
      notBefore,
      notAfter: new Date(Math.min(notAfter.getTime(), this.#certificate.notAfter.getTime())),
      signingAlgorithm: SIGNING_ALGORITHM,
      extensions: await this.#extensions(keys.publicKey, names, options.usage),
    });
    return { certPem: pemOf(certificate), keyPem: keyPemOf(keys.privateKey) };
  }

  async #extensions(
    publicKey: webcrypto.CryptoKey,
    names: JsonGeneralName[],
    usage: IssueOptions["usage"],
  ): Promise<Extension[]> {
    return [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([...USAGES[usage]]),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(this.#certificate.publicKey),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ];
  }
}

function alternativeNames({
  commonName,
  usage,
  dnsNames = [],
  ipAddresses = [],
  uris = [],
}: IssueOptions): JsonGeneralName[] {
  if (usage !== "client" && dnsNames.length + ipAddresses.length === 0) {
    throw new TypeError(
      `Cannot issue a server certificate for "${commonName}": it needs at least one DNS name or IP address`,
    );
  }
  return [
    ...dnsNames.map((value) => ({ type: "dns", value }) as const),
    ...ipAddresses.map((value) => ({ type: "ip", value }) as const),
    ...uris.map((value) => ({ type: "url", value }) as const),
  ];
}

function validity({ now, validDays }: { now: Date; validDays: number }): { notBefore: Date; notAfter: Date } {
  if (!(validDays > 0))
    throw new RangeError(`Cannot issue a certificate: validDays must be above 0, current value is ${validDays}`);
  return { notBefore: new Date(now.getTime() - CLOCK_SKEW_MS), notAfter: new Date(now.getTime() + validDays * DAY_MS) };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
}

function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}

function keyPemOf(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: "pkcs8", format: "pem" });
}
