// Issued certificates, looked at with Node's own parser: what they name, permit, and how long they
// hold.
import { createPrivateKey, X509Certificate } from "node:crypto";

import { beforeAll, describe, expect, it } from "vitest";

import { type Authority, createAuthority, loadAuthority } from "./authority.ts";

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

const now = new Date("2026-11-21T12:00:00Z");

let authority: Authority;

beforeAll(async () => {
  authority = await createAuthority({ commonName: "Weir development authority", now, validDays: 30 });
});

describe("createAuthority()", () => {
  it("createAuthority() makes a self-signed authority with the validity asked for", () => {
    const certificate = new X509Certificate(authority.certPem);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe("CN=Weir development authority");
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.validFromDate.toISOString()).toBe("2026-11-21T11:55:00.000Z");
    expect(certificate.validToDate.toISOString()).toBe("2026-12-21T12:00:00.000Z");
  });

  it("createAuthority() makes an ECDSA key on P-256 in PEM", () => {
    const key = createPrivateKey(authority.keyPem);
    expect([key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve]).toEqual(["ec", "prime256v1"]);
    expect(authority.keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  it("createAuthority() takes a name literally when it holds the syntax of names", async () => {
    const { certPem } = await createAuthority({ commonName: "a,O=b+CN=c", now, validDays: 1 });
    expect(new X509Certificate(certPem).subject).toBe(String.raw`CN=a\,O=b\+CN=c`);
  });

  it("createAuthority() refuses a validity that is not above 0", async () => {
    await expect(createAuthority({ commonName: "a", now, validDays: 0 })).rejects.toThrow(
      "Cannot issue a certificate: validDays must be above 0, current value is 0",
    );
  });
});

describe("Authority.issue()", () => {
  it("issue() names every host, address and URI when they are given", async () => {
    const pair = await authority.issue({
      commonName: "control-plane",
      dnsNames: ["localhost", "control-plane.weir.svc"],
      ipAddresses: ["127.0.0.1", "::1"],
      uris: ["spiffe://weir/control-plane"],
      usage: "server",
      now,
      validDays: 10,
    });
    const certificate = new X509Certificate(pair.certPem);
    expect(certificate.subjectAltName).toBe(
      "DNS:localhost, DNS:control-plane.weir.svc, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, URI:spiffe://weir/control-plane",
    );
    expect(certificate.subject).toBe("CN=control-plane");
    expect(certificate.issuer).toBe("CN=Weir development authority");
    expect(certificate.ca).toBe(false);
    expect(certificate.validToDate.toISOString()).toBe("2026-12-01T12:00:00.000Z");
    expect(certificate.checkPrivateKey(createPrivateKey(pair.keyPem))).toBe(true);
    expect(certificate.verify(new X509Certificate(authority.certPem).publicKey)).toBe(true);
    expect(certificate.checkIssued(new X509Certificate(authority.certPem))).toBe(true);
  });

  it.each([
    { usage: "server", permitted: [SERVER_AUTH] },
    { usage: "client", permitted: [CLIENT_AUTH] },
    { usage: "both", permitted: [SERVER_AUTH, CLIENT_AUTH] },
  ] as const)("issue() permits $permitted when the usage is $usage", async ({ usage, permitted }) => {
    const { certPem } = await authority.issue({ commonName: "a", dnsNames: ["a"], usage, now, validDays: 1 });
    expect(new X509Certificate(certPem).keyUsage).toEqual(permitted);
  });

  it("issue() ends the certificate with the authority's own when it was asked for longer", async () => {
    const { certPem } = await authority.issue({
      commonName: "a",
      dnsNames: ["a"],
      usage: "server",
      now,
      validDays: 9999,
    });
    expect(new X509Certificate(certPem).validToDate.toISOString()).toBe("2026-12-21T12:00:00.000Z");
  });

  it("issue() gives every certificate its own serial number and key when it is called twice", async () => {
    const options = { commonName: "a", usage: "client", now, validDays: 1 } as const;
    const [first, second] = await Promise.all([authority.issue(options), authority.issue(options)]);
    expect(new X509Certificate(first.certPem).serialNumber).not.toBe(new X509Certificate(second.certPem).serialNumber);
    expect(first.keyPem).not.toBe(second.keyPem);
  });

  it.each(["server", "both"] as const)(
    "issue() refuses a certificate without names when the usage is %s",
    async (usage) => {
      await expect(
        authority.issue({ commonName: "a", uris: ["spiffe://a"], usage, now, validDays: 1 }),
      ).rejects.toThrow('Cannot issue a server certificate for "a": it needs at least one DNS name or IP address');
    },
  );
});

describe("loadAuthority()", () => {
  it("loadAuthority() issues certificates of the same authority when it gets its files", async () => {
    const loaded = await loadAuthority(authority.certPem, authority.keyPem);
    expect(loaded).toMatchObject({ certPem: authority.certPem, keyPem: authority.keyPem });
    const { certPem } = await loaded.issue({ commonName: "a", usage: "client", now, validDays: 1 });
    expect(new X509Certificate(certPem).verify(new X509Certificate(authority.certPem).publicKey)).toBe(true);
  });

  it("loadAuthority() refuses a pair that does not belong together", async () => {
    const other = await createAuthority({ commonName: "b", now, validDays: 1 });
    await expect(loadAuthority(authority.certPem, other.keyPem)).rejects.toMatchObject({
      code: "AUTHORITY_INVALID",
      message: "Cannot load the certificate authority: the key does not belong to the certificate",
    });
  });

  it("loadAuthority() refuses a certificate that is not one of an authority", async () => {
    const pair = await authority.issue({ commonName: "a", usage: "client", now, validDays: 1 });
    await expect(loadAuthority(pair.certPem, pair.keyPem)).rejects.toThrow(
      "Cannot load the certificate authority: the certificate is not one of an authority",
    );
  });

  it.each([
    { certPem: "", keyPem: "" },
    { certPem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", keyPem: "nonsense" },
  ])("loadAuthority() fails with AUTHORITY_INVALID when it gets no PEM", async ({ certPem, keyPem }) => {
    await expect(loadAuthority(certPem, keyPem)).rejects.toMatchObject({ code: "AUTHORITY_INVALID" });
  });
});
