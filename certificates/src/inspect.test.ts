// Compares the content that is read from certificates with what was asked for.
import { beforeAll, describe, expect, it } from "vitest";

import { type Authority, type CertificatePair, createAuthority } from "./authority.ts";
import { type CertificateNames, hasNames, isIssuedBy, isKeyOf, readCertificates } from "./inspect.ts";

const now = new Date("2026-11-21T12:00:00Z");
const NAMES: CertificateNames = {
  commonName: "a",
  dnsNames: ["a.svc", "*.a.svc"],
  uris: ["spiffe://cluster.local/ns/shop/fleet/core"],
  usage: "both",
};

let authority: Authority;
let pair: CertificatePair;

beforeAll(async () => {
  authority = await createAuthority({ commonName: "ca", now, validDays: 30 });
  pair = await authority.issue({ ...NAMES, now, validDays: 1 });
});

describe("readCertificates()", () => {
  it("readCertificates() reads every certificate and leaves out what is none", () => {
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    expect(readCertificates(`${pair.certPem}text\n${broken}${authority.certPem}`)).toEqual([
      {
        pem: pair.certPem,
        commonName: "a",
        validFromMs: Date.parse("2026-11-21T11:55:00Z"),
        validToMs: Date.parse("2026-11-22T12:00:00Z"),
        isAuthority: false,
      },
      {
        pem: authority.certPem,
        commonName: "ca",
        validFromMs: Date.parse("2026-11-21T11:55:00Z"),
        validToMs: Date.parse("2026-12-21T12:00:00Z"),
        isAuthority: true,
      },
    ]);
  });
});

describe("a certificate", () => {
  const detailsOf = (pem: string) => readCertificates(pem)[0]!;

  it("isKeyOf() is true for its key only", () => {
    const certificate = detailsOf(pair.certPem);
    expect(isKeyOf(certificate, pair.keyPem)).toBe(true);
    expect(isKeyOf(certificate, authority.keyPem)).toBe(false);
    expect(isKeyOf(certificate, "nonsense")).toBe(false);
  });

  it("isIssuedBy() is true for the authority whose key signed it, not for one of the same name", async () => {
    const namesake = await createAuthority({ commonName: "ca", now, validDays: 30 });
    const certificate = detailsOf(pair.certPem);
    expect(isIssuedBy(certificate, detailsOf(authority.certPem))).toBe(true);
    expect(isIssuedBy(certificate, detailsOf(namesake.certPem))).toBe(false);
  });

  it.each([
    { wanted: NAMES, expected: true },
    { wanted: { ...NAMES, dnsNames: ["*.a.svc", "a.svc"] }, expected: true },
    { wanted: { ...NAMES, dnsNames: ["a.svc"] }, expected: false },
    { wanted: { ...NAMES, dnsNames: ["a.svc", "b.svc"] }, expected: false },
    { wanted: { ...NAMES, uris: [] }, expected: false },
    { wanted: { ...NAMES, uris: ["spiffe://cluster.local/ns/shop/fleet/other"] }, expected: false },
    { wanted: { ...NAMES, usage: "server" as const }, expected: false },
    { wanted: { ...NAMES, commonName: "b" }, expected: false },
  ])("hasNames() is $expected for $wanted", ({ wanted, expected }) => {
    expect(hasNames(detailsOf(pair.certPem), wanted)).toBe(expected);
  });
});
