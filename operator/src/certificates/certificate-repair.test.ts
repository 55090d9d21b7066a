// The certificates that their keeper replaces because they are broken, and those that it keeps.
import { X509Certificate } from "node:crypto";

import { isIssuedBy, readCertificates } from "@weir/certificates/inspect";
import { beforeEach, describe, expect, it } from "vitest";

import {
  BANK,
  CA,
  CertificateFixture,
  CONTROL_PLANE,
  DAY_MS,
  detailsOf,
  HOUR_MS,
  OPERATOR,
  service,
  SHOP,
} from "./certificate-fixture.suite.ts";
import { SECRETS } from "./certificate-secret.ts";

let fixture: CertificateFixture;

beforeEach(() => {
  fixture = new CertificateFixture();
});

describe("CertificateKeeper, repairs", () => {
  it.each([
    { fault: "a broken certificate", edit: { "core.crt": "nonsense" } },
    { fault: "another's key", edit: { "core.key": "edge.key" } },
    { fault: "a missing key", edit: { "core.key": "" } },
    { fault: "another's certificate", edit: { "core.crt": "edge.crt", "core.key": "edge.key" } },
    { fault: "two certificates", edit: { "core.crt": "core.crt,edge.crt" } },
    { fault: "other authorities", edit: { "ca.crt": "nonsense" } },
  ])("repairs $fault", async ({ edit }) => {
    await fixture.pass();
    const before = fixture.dataOf(SHOP);
    fixture.objects.edit(SECRETS, SHOP, (data) => {
      const value = (text: string): string =>
        text
          .split(",")
          .map((name) => data[name] ?? name)
          .join("");
      return { ...data, ...Object.fromEntries(Object.entries(edit).map(([key, text]) => [key, value(text)])) };
    });
    await fixture.pass();
    const after = fixture.dataOf(SHOP);
    expect(after["ca.crt"]).toBe(before["ca.crt"]);
    const core = new X509Certificate(after["core.crt"]!);
    expect(core.subjectAltName).toBe("URI:spiffe://cluster.local/ns/shop/fleet/shop.core");
    expect(fixture.trusts(after["ca.crt"]!, after["core.crt"]!)).toBe(true);
    expect(after["edge.crt"]).toBe(before["edge.crt"]);
    fixture.objects.writes.length = 0;
    await fixture.pass();
    expect(fixture.objects.writes).toEqual([]);
  });

  it.each([
    { fault: "nonsense", edit: (data: Record<string, string>) => ({ ...data, "tls.key": "nonsense" }), others: 1 },
    { fault: "a missing certificate", edit: () => ({}), others: 0 },
    {
      fault: "a certificate that is none of an authority",
      edit: (data: Record<string, string>) => {
        const { "tls.crt": cert = "", "tls.key": key = "" } = fixture.dataOf(OPERATOR);
        return { ...data, "tls.crt": cert, "tls.key": key };
      },
      others: 1,
    },
  ])("replaces the authority when its Secret has $fault, and trusts the earlier one on", async ({ edit, others }) => {
    await fixture.pass();
    const first = fixture.dataOf(CA)["tls.crt"]!;
    fixture.objects.edit(SECRETS, CA, edit);
    await fixture.pass();
    const bundle = readCertificates(fixture.dataOf(CA)["ca.crt"]!).map(({ pem }) => pem);
    expect(bundle).toHaveLength(1 + others);
    if (others > 0) expect(bundle[1]).toBe(first);
    expect(isIssuedBy(detailsOf(fixture.dataOf(SHOP)["core.crt"]), detailsOf(fixture.dataOf(CA)["tls.crt"]))).toBe(
      true,
    );
    expect(fixture.warnings()).toContain("Replaced the certificate authority");
    expect(fixture.events[0]).toBe("Warning CertificateRenewed weir-system/weir-ca");
  });

  it.each([{ days: 1 }, { days: 15 }, { days: 3650 }])(
    "keeps the authority and every certificate while the clock is $days days behind, and says so once",
    async ({ days }) => {
      await fixture.pass();
      const before = [CA, CONTROL_PLANE, OPERATOR, SHOP].map((name) => fixture.dataOf(name));
      fixture.objects.writes.length = 0;
      fixture.nowMs += 10 * DAY_MS;
      fixture.clockErrorMs = -(10 + days) * DAY_MS;
      await fixture.pass();
      await fixture.pass();
      expect([CA, CONTROL_PLANE, OPERATOR, SHOP].map((name) => fixture.dataOf(name))).toEqual(before);
      expect(fixture.objects.writes).toEqual([]);
      expect(fixture.events).toEqual([]);
      expect(fixture.warnings()).toEqual(["The clock is behind the certificates, which are kept"]);
      fixture.clockErrorMs = 0;
      await fixture.pass();
      expect(fixture.objects.writes).toEqual([]);
    },
  );

  it.each([
    { days: 10, passes: 1 },
    { days: 100, passes: 4 },
  ])(
    "issues certificates that are valid in truth while the clock is behind, by an authority of $days days",
    async ({ passes }) => {
      for (let pass = 0; pass < passes; pass += 1) {
        if (pass > 0) fixture.nowMs += 30 * DAY_MS;
        await fixture.pass();
      }
      fixture.nowMs += 10 * DAY_MS;
      fixture.clockErrorMs = -400 * DAY_MS;
      fixture.services.push(service("bank", "core", "bank.core"));
      await fixture.pass();
      const { validFromMs, validToMs } = detailsOf(fixture.dataOf(BANK)["core.crt"]);
      expect([validFromMs <= fixture.nowMs, fixture.nowMs < validToMs]).toEqual([true, true]);
    },
  );

  it("makes an authority that is valid in truth while the clock is behind", async () => {
    await fixture.pass();
    fixture.clockErrorMs = -400 * DAY_MS;
    fixture.objects.remove(SECRETS, CA);
    await fixture.pass();
    const { validFromMs, validToMs } = detailsOf(fixture.dataOf(CA)["tls.crt"]);
    expect([validFromMs <= fixture.nowMs, fixture.nowMs < validToMs]).toEqual([true, true]);
  });

  it("does not let the next authority sign early because the clock was set back and forth", async () => {
    await fixture.pass();
    const first = fixture.dataOf(CA)["tls.crt"];
    fixture.nowMs += 245 * DAY_MS;
    await fixture.pass();
    fixture.clockErrorMs = -30 * DAY_MS;
    await fixture.pass();
    fixture.clockErrorMs = 0;
    fixture.nowMs += 60_000;
    await fixture.pass();
    await fixture.pass();
    expect(fixture.dataOf(CA)["tls.crt"]).toBe(first);
    fixture.nowMs += HOUR_MS;
    await fixture.pass();
    expect(fixture.dataOf(CA)["tls.crt"]).not.toBe(first);
  });

  it("replaces what a clock that was ahead has issued", async () => {
    fixture.clockErrorMs = 700 * DAY_MS;
    await fixture.pass();
    fixture.clockErrorMs = 0;
    await fixture.pass();
    for (const pem of [fixture.dataOf(CA)["tls.crt"], fixture.dataOf(SHOP)["core.crt"]])
      expect(detailsOf(pem).validFromMs).toBeLessThan(fixture.nowMs);
    expect(fixture.warnings()).toContain("Replaced a certificate");
  });

  it("makes new certificates when the operator was away until all had expired", async () => {
    await fixture.pass();
    fixture.nowMs += 500 * DAY_MS;
    await fixture.pass();
    expect(detailsOf(fixture.dataOf(CA)["tls.crt"]).validToMs).toBe(fixture.nowMs + 365 * DAY_MS);
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(fixture.dataOf(CA)["tls.crt"]);
    expect(detailsOf(fixture.dataOf(SHOP)["core.crt"]).validToMs).toBe(fixture.nowMs + 30 * DAY_MS);
  });
});
