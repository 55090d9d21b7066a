// The certificates of a cluster as services come and go: what is made, renewed and removed.
import { X509Certificate } from "node:crypto";

import { isIssuedBy } from "@weir/certificates/inspect";
import { beforeEach, describe, expect, it } from "vitest";

import {
  BANK,
  CA,
  CertificateFixture,
  CONTROL_PLANE,
  DAY_MS,
  detailsOf,
  OPERATOR,
  service,
  SHOP,
} from "./certificate-fixture.suite.ts";
import { readSecret, SECRETS } from "./certificate-secret.ts";

let fixture: CertificateFixture;

beforeEach(() => {
  fixture = new CertificateFixture();
});

describe("CertificateKeeper", () => {
  it("makes the authority and every certificate when there is none", async () => {
    await fixture.pass();
    expect(fixture.objects.writes).toEqual([
      "weir-system/weir-ca",
      "weir-system/weir-control-plane-tls",
      "weir-system/weir-operator-tls",
      "shop/weir-ratelimit-tls",
    ]);
    expect(Object.keys(fixture.dataOf(CA))).toEqual(["tls.crt", "tls.key", "ca.crt"]);
    expect(Object.keys(fixture.dataOf(SHOP)).toSorted()).toEqual([
      "ca.crt",
      "core.crt",
      "core.key",
      "edge.crt",
      "edge.key",
    ]);
    const core = new X509Certificate(fixture.dataOf(SHOP)["core.crt"]!);
    expect(core.subjectAltName).toBe("URI:spiffe://cluster.local/ns/shop/fleet/shop.core");
    expect(core.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(core.validToDate.toISOString()).toBe("2026-12-22T12:00:00.000Z");
    const operator = new X509Certificate(fixture.dataOf(OPERATOR)["tls.crt"]!);
    expect(operator.subjectAltName).toBe(
      "DNS:weir-operator, DNS:weir-operator.weir-system, DNS:weir-operator.weir-system.svc, " +
        "DNS:weir-operator.weir-system.svc.cluster.local, URI:spiffe://cluster.local/ns/weir-system/sa/weir-operator",
    );
    const controlPlane = new X509Certificate(fixture.dataOf(CONTROL_PLANE)["tls.crt"]!);
    for (const host of ["weir-control-plane.weir-system", "pod-0.weir-control-plane-headless.weir-system.svc"])
      expect(controlPlane.checkHost(host)).toBeDefined();
    expect(fixture.dataOf(CONTROL_PLANE)["ca.crt"]).toBe(fixture.dataOf(CA)["ca.crt"]);
    expect(fixture.events).toEqual([]);
  });

  it("writes nothing when everything is as it should be", async () => {
    await fixture.pass();
    fixture.objects.writes.length = 0;
    fixture.nowMs += 19 * DAY_MS;
    expect(await fixture.pass()).toEqual({ againAfterMs: 60_000 });
    expect(fixture.objects.writes).toEqual([]);
  });

  it("renews certificates at two thirds of their life, and says so", async () => {
    await fixture.pass();
    const before = fixture.dataOf(SHOP);
    fixture.nowMs += 20 * DAY_MS;
    await fixture.pass();
    expect(fixture.dataOf(SHOP)["core.crt"]).not.toBe(before["core.crt"]);
    expect(fixture.dataOf(SHOP)["core.key"]).not.toBe(before["core.key"]);
    expect(fixture.dataOf(SHOP)["ca.crt"]).toBe(before["ca.crt"]);
    expect(fixture.events).toEqual([
      "Normal CertificateRenewed weir-system/weir-control-plane-tls",
      "Normal CertificateRenewed weir-system/weir-operator-tls",
      "Normal CertificateRenewed shop/core",
      "Normal CertificateRenewed shop/edge",
    ]);
  });

  it.each([{ name: CA }, { name: SHOP }, { name: OPERATOR }])(
    "does not change a Secret $name.name without its label, and says so once",
    async ({ name }) => {
      fixture.objects.put(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: name,
        data: { "tls.key": "bWluZQ==" },
      });
      await fixture.pass();
      await fixture.pass();
      expect(fixture.objects.dataOf(SECRETS, name)).toEqual({ "tls.key": "mine" });
      expect(fixture.events).toEqual([`Warning CertificateNotKept ${name.namespace}/${name.name}`]);
      expect(fixture.dataOf(CONTROL_PLANE)["tls.crt"] === undefined).toBe(name === CA);
    },
  );

  it("does not take a Secret that another one makes at the same time", async () => {
    const metadata = { ...SHOP };
    fixture.objects.fail = (name) => {
      // Between the look and the write.
      if (name === CA.name && fixture.objects.dataOf(SECRETS, CA) !== undefined) return;
      if (name === SHOP.name && fixture.objects.dataOf(SECRETS, CA) !== undefined)
        fixture.objects.put(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: { a: "bWluZQ==" } });
    };
    await expect(fixture.pass()).rejects.toMatchObject({ kind: "conflict" });
    expect(fixture.objects.dataOf(SECRETS, SHOP)).toEqual({ a: "mine" });
  });

  it("gives a fleet's certificate to its owner only, and removes those of services that are gone", async () => {
    fixture.services = [service("shop", "core", "gold"), service("shop", "edge", "shop.edge")];
    fixture.services.push(service("bank", "core", "gold", 1));
    await fixture.pass();
    expect(fixture.objects.dataOf(SECRETS, BANK)).toBeUndefined();
    fixture.services = fixture.services.filter(({ name, namespace }) => namespace === "bank" || name === "edge");
    await fixture.pass();
    expect(Object.keys(fixture.dataOf(SHOP)).toSorted()).toEqual(["ca.crt", "edge.crt", "edge.key"]);
    expect(new X509Certificate(fixture.dataOf(BANK)["core.crt"]!).subjectAltName).toBe(
      "URI:spiffe://cluster.local/ns/bank/fleet/gold",
    );
  });

  it("issues no certificate of a default fleet to another namespace while its service is re-created", async () => {
    const parked = service("bank", "parked", "shop.core", -1);
    const own = fixture.services;
    fixture.services = [...own.filter(({ name }) => name !== "core"), parked];
    await fixture.pass();
    expect(fixture.objects.dataOf(SECRETS, BANK)).toBeUndefined();
    fixture.services = [...own, parked];
    await fixture.pass();
    expect(fixture.objects.dataOf(SECRETS, BANK)).toBeUndefined();
    expect(new X509Certificate(fixture.dataOf(SHOP)["core.crt"]!).subjectAltName).toBe(
      "URI:spiffe://cluster.local/ns/shop/fleet/shop.core",
    );
  });

  it("lets every service of the namespace own its Secret, so that it goes with the last of them", async () => {
    const uncertified = service("bank", "late", "shop.core", 1);
    const before = fixture.services;
    fixture.services = [...before, uncertified, service("bank", "core", "bank.core")];
    await fixture.pass();
    fixture.services = [...before, uncertified];
    await fixture.pass();
    const stored = await fixture.objects.get(SECRETS, BANK);
    expect(Object.keys(fixture.dataOf(BANK))).toEqual(["ca.crt"]);
    expect(readSecret(stored!).ownerUids).toEqual(["bank-late"]);
  });

  it("issues a certificate anew when the fleet of its service changes", async () => {
    await fixture.pass();
    fixture.services[0] = service("shop", "core", "other");
    await fixture.pass();
    expect(new X509Certificate(fixture.dataOf(SHOP)["core.crt"]!).subjectAltName).toBe(
      "URI:spiffe://cluster.local/ns/shop/fleet/other",
    );
  });

  it("keeps the other Secrets when one cannot be written, and fails", async () => {
    fixture.services.push(service("bank", "core", "bank.core"));
    fixture.objects.fail = (name) => {
      if (name === CONTROL_PLANE.name) throw new Error("forbidden");
    };
    await expect(fixture.pass()).rejects.toThrow("forbidden");
    expect(fixture.dataOf(SHOP)["core.crt"]).toBeDefined();
    expect(fixture.dataOf(BANK)["core.crt"]).toBeDefined();
  });

  it("continues where another replica was interrupted", async () => {
    fixture.objects.fail = (name) => {
      if (name === OPERATOR.name) throw new Error("killed");
    };
    await expect(fixture.pass()).rejects.toThrow("killed");
    fixture.objects.fail = () => undefined;
    fixture.restart();
    await fixture.pass();
    expect(isIssuedBy(detailsOf(fixture.dataOf(OPERATOR)["tls.crt"]), detailsOf(fixture.dataOf(CA)["tls.crt"]))).toBe(
      true,
    );
  });

  it.each([
    { hasWebhook: true, reads: ["weir"] },
    { hasWebhook: false, reads: [] },
  ])("reads the configuration of the webhook only when it serves one: $hasWebhook", async ({ hasWebhook, reads }) => {
    const names: string[] = [];
    fixture.objects.fail = (name) => names.push(name);
    fixture.restart({ hasWebhook });
    await fixture.pass();
    expect(names.filter((name) => name === "weir")).toEqual(reads);
  });
});
