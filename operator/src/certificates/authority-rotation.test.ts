// The authorities of a cluster over years, with a clock that the test turns: every process trusts every
// other in between.
import { createAuthority } from "@weir/certificates/authority";
import { isIssuedBy, readCertificates } from "@weir/certificates/inspect";
import { beforeEach, describe, expect, it } from "vitest";

import {
  CA,
  CertificateFixture,
  CONTROL_PLANE,
  DAY_MS,
  detailsOf,
  HOUR_MS,
  OPERATOR,
  SHOP,
  START_MS,
} from "./certificate-fixture.suite.ts";
import { SECRETS } from "./certificate-secret.ts";

let fixture: CertificateFixture;

beforeEach(() => {
  fixture = new CertificateFixture();
});

describe("CertificateKeeper, authorities", () => {
  it("keeps every process trusting every other for 400 days, also when a Secret reaches pods an hour late", async () => {
    const stepMs = 9 * DAY_MS;
    fixture.services.pop();
    const authorities = new Set<string>();
    let longest = 0;
    let late: Record<string, string>[] = [];
    for (; fixture.nowMs < START_MS + 400 * DAY_MS; fixture.nowMs += nextStepMs(stepMs)) {
      await fixture.pass();
      const present = [CONTROL_PLANE, OPERATOR, SHOP].map((name) => fixture.dataOf(name));
      for (const data of present) {
        for (const [key, pem] of Object.entries(data)) {
          if (!key.endsWith(".crt") || key === "ca.crt") continue;
          const leaf = detailsOf(pem);
          expect(leaf.validFromMs <= fixture.nowMs && fixture.nowMs < leaf.validToMs, `${key} is valid`).toBe(true);
          // Its key and bundle may be read now, or as they were at the pass before.
          for (const { "ca.crt": bundle = "" } of [...present, ...late])
            expect(fixture.trusts(bundle, pem), `${key} at ${new Date(fixture.nowMs).toISOString()}`).toBe(true);
        }
      }
      // Pods that have the new Secret must trust the certificates that pods still had before this pass.
      for (const old of late)
        for (const [key, pem] of Object.entries(old))
          if (key.endsWith(".crt") && key !== "ca.crt")
            for (const { "ca.crt": bundle = "" } of present) expect(fixture.trusts(bundle, pem)).toBe(true);
      late = present;
      authorities.add(fixture.dataOf(CA)["tls.crt"]!);
      longest = Math.max(longest, readCertificates(fixture.dataOf(CA)["ca.crt"]!).length);
    }
    expect(authorities.size).toBe(2);
    expect(longest).toBe(2);
    expect(fixture.warnings()).toEqual([]);
  });

  /** Small steps while the next authority waits, so that each stage is seen. */
  function nextStepMs(usualMs: number): number {
    return fixture.dataOf(CA)["next.crt"] === undefined ? usualMs : HOUR_MS / 2;
  }

  it("lets the next authority sign an hour after every Secret has it", async () => {
    await fixture.pass();
    const first = fixture.dataOf(CA)["tls.crt"];
    fixture.nowMs += 245 * DAY_MS;
    await fixture.pass();
    const next = fixture.dataOf(CA)["next.crt"]!;
    expect(fixture.dataOf(CA)["ca.crt"]).toBe(`${first}${next}`);
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(`${first}${next}`);
    // The Secret of one namespace cannot be written.
    fixture.objects.edit(SECRETS, SHOP, (data) => ({ ...data, "ca.crt": first! }));
    fixture.objects.fail = (name) => {
      if (name === SHOP.name) throw new Error("forbidden");
    };
    for (let hour = 0; hour < 3; hour += 1) {
      fixture.nowMs += HOUR_MS;
      await expect(fixture.pass()).rejects.toThrow("forbidden");
    }
    expect(fixture.dataOf(CA)["tls.crt"]).toBe(first);
    fixture.objects.fail = () => undefined;
    await fixture.pass(); // Writes the bundle.
    await fixture.pass(); // Sees it everywhere.
    fixture.nowMs += HOUR_MS - 1;
    await fixture.pass();
    expect(fixture.dataOf(CA)["tls.crt"]).toBe(first);
    fixture.nowMs += 1;
    await fixture.pass();
    expect(fixture.dataOf(CA)["tls.crt"]).toBe(next);
    expect(fixture.dataOf(CA)["next.crt"]).toBeUndefined();
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(`${next}${first}`);
    expect(isIssuedBy(detailsOf(fixture.dataOf(SHOP)["core.crt"]), detailsOf(next))).toBe(true);
    fixture.nowMs = START_MS + 365 * DAY_MS + 1;
    await fixture.pass();
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(next);
  });

  it("waits 30 days for a Secret that cannot be written, not until the authority ends", async () => {
    await fixture.pass();
    fixture.nowMs += 245 * DAY_MS;
    fixture.objects.fail = (name) => {
      if (name === SHOP.name) throw new Error("the Secret is immutable");
    };
    await expect(fixture.pass()).rejects.toThrow("immutable");
    const next = fixture.dataOf(CA)["next.crt"];
    fixture.nowMs += 29 * DAY_MS;
    await expect(fixture.pass()).rejects.toThrow("immutable");
    expect(fixture.dataOf(CA)["next.crt"]).toBe(next);
    fixture.nowMs += DAY_MS;
    await expect(fixture.pass()).rejects.toThrow("immutable");
    expect(fixture.dataOf(CA)["tls.crt"]).toBe(next);
    expect(isIssuedBy(detailsOf(fixture.dataOf(CONTROL_PLANE)["tls.crt"]), detailsOf(next))).toBe(true);
  });

  it("takes an authority that is brought along, with its key", async () => {
    const own = await createAuthority({ commonName: "own", now: new Date(fixture.nowMs), validDays: 3650 });
    const metadata = { ...CA, labels: { "app.kubernetes.io/managed-by": "weir-operator" } };
    fixture.objects.put(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
    fixture.objects.edit(SECRETS, CA, () => ({ "tls.crt": own.certPem, "tls.key": own.keyPem }));
    await fixture.pass();
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(own.certPem);
    expect(fixture.trusts(own.certPem, fixture.dataOf(SHOP)["core.crt"]!)).toBe(true);
  });

  it("takes an authority that was stored just now while its clock is 25 seconds behind", async () => {
    await fixture.pass();
    fixture.nowMs += DAY_MS;
    fixture.clockErrorMs = -25_000;
    const own = await createAuthority({
      commonName: "own",
      now: new Date(fixture.nowMs + 5 * 60_000),
      validDays: 3650,
    });
    const data = { "tls.crt": own.certPem, "tls.key": own.keyPem };
    fixture.objects.edit(SECRETS, CA, (earlier) => ({ ...earlier, ...data }));
    await fixture.pass();
    expect(fixture.dataOf(CA)).toMatchObject(data);
    expect(fixture.trusts(own.certPem, fixture.dataOf(SHOP)["core.crt"]!)).toBe(true);
  });
});
