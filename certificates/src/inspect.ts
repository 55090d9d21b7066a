// Reads certificates of any origin and compares them with what is wanted. Pure.
import { createPrivateKey, X509Certificate as NodeCertificate } from "node:crypto";

import "reflect-metadata"; // A peer dependency of @peculiar/x509.
import { ExtendedKeyUsageExtension, SubjectAlternativeNameExtension, X509Certificate } from "@peculiar/x509";

import { isAuthorityKey, type IssueOptions } from "./authority.ts";
import { USAGES } from "./usages.ts";

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The content of a certificate. */
export interface CertificateDetails {
  /** One PEM block with a line break at its end. */
  readonly pem: string;
  readonly commonName: string;
  /** The first and the last time at which it is valid, in milliseconds since the epoch. */
  readonly validFromMs: number;
  readonly validToMs: number;
  readonly isAuthority: boolean;
}

/** The names and the use of a certificate. */
export type CertificateNames = Pick<IssueOptions, "commonName" | "dnsNames" | "ipAddresses" | "uris" | "usage">;

/** The certificates of a text with PEM blocks, in its order. Blocks that do not parse are left out. */
export function readCertificates(pem: string): readonly CertificateDetails[] {
  return (pem.match(PEM_CERTIFICATE) ?? []).flatMap((block) => {
    const certificate = parse(block);
    if (certificate === undefined) return [];
    return [
      {
        pem: `${block}\n`,
        commonName: commonNameOf(certificate),
        validFromMs: certificate.validFromDate.getTime(),
        validToMs: certificate.validToDate.getTime(),
        isAuthority: certificate.ca,
      },
    ];
  });
}

/** Returns true if the key, in PEM, belongs to the certificate. */
export function isKeyOf(certificate: CertificateDetails, keyPem: string): boolean {
  try {
    return new NodeCertificate(certificate.pem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false; // No key at all.
  }
}

/** Returns true if an authority with this key, in PEM, can be loaded. */
export function canSign(keyPem: string): boolean {
  try {
    return isAuthorityKey(createPrivateKey(keyPem));
  } catch {
    return false; // No key at all.
  }
}

/** Returns true if the authority has signed the certificate. */
export function isIssuedBy(certificate: CertificateDetails, authority: CertificateDetails): boolean {
  const [issued, issuer] = [new NodeCertificate(certificate.pem), new NodeCertificate(authority.pem)];
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey);
}

/** Returns true if a certificate has exactly these names and this use. */
export function hasNames(certificate: CertificateDetails, wanted: CertificateNames): boolean {
  const parsed = new X509Certificate(certificate.pem);
  const names = parsed.getExtension(SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const usages = parsed.getExtension(ExtendedKeyUsageExtension)?.usages ?? [];
  const all = [
    ...(wanted.dnsNames ?? []).map((name) => `dns ${name}`),
    ...(wanted.ipAddresses ?? []).map((name) => `ip ${name}`),
    ...(wanted.uris ?? []).map((name) => `url ${name}`),
  ];
  return (
    certificate.commonName === wanted.commonName &&
    isSameSet(
      names.map(({ type, value }) => `${type} ${value}`),
      all,
    ) &&
    isSameSet<unknown>(usages, USAGES[wanted.usage])
  );
}

function isSameSet<Item>(left: readonly Item[], right: readonly Item[]): boolean {
  const wanted = new Set(right);
  return new Set(left).size === wanted.size && left.every((each) => wanted.has(each));
}

function parse(block: string): NodeCertificate | undefined {
  try {
    return new NodeCertificate(block);
  } catch {
    return undefined; // The text between the lines is no certificate.
  }
}

function commonNameOf({ subject }: NodeCertificate): string {
  return /(?:^|\n)CN=([^\n]*)/.exec(subject)?.[1] ?? "";
}
