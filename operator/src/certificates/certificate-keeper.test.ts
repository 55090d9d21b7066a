// The certificates of a cluster over years, with a clock that the test turns: what is made, renewed and
// repaired, and that every process trusts every other in between.
import { X509Certificate } from "node:crypto";

import { createAuthority } from "@weir/certificates/authority";
import { isIssuedBy, readCertificates } from "@weir/certificates/inspect";
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";

import type { EventObject, EventText } from "../events/event-recorder.ts";
import { CertificateKeeper } from "./certificate-keeper.ts";
import { SECRETS } from "./certificate-secret.ts";
import { FakeObjects } from "./fake-objects.suite.ts";
import type { CertificateNaming, CertifiedService } from "./leaf-plan.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.parse("2026-11-22T12:00:00Z");

const NAMING: CertificateNaming = {
  namespace: "weir-system",
  clusterDomain: "cluster.local",
  controlPlaneServices: ["weir-control-plane", "weir-control-plane-headless"],
  webhookService: "weir-operator",
};

const CA = { namespace: "weir-system", name: "weir-ca" };
const CONTROL_PLANE = { namespace: "weir-system", name: "weir-control-plane-tls" };
const OPERATOR = { namespace: "weir-system", name: "weir-operator-tls" };
const SHOP = { namespace: "shop", name: "weir-ratelimit-tls" };
const BANK = { namespace: "bank", name: "weir-ratelimit-tls" };

function service(namespace: string, name: string, fleet: string, createdMs = 0): CertifiedService {
  const identity = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", uid: `${namespace}-${name}` };
  return { ...identity, namespace, name, fleet, createdMs };
}

let objects: FakeObjects;
let nowMs: number;
let services: CertifiedService[];
let events: string[];
let lines: Record<string, unknown>[];
let keeper: CertificateKeeper;
/** Checked signatures, by authority and certificate: checking them takes most of the time. */
const isIssued = new Map<string, boolean>();

const { signal } = new AbortController();
const pass = async () => await keeper.reconcile(keeper.key, signal);
const dataOf = (name: typeof CA) => objects.dataOf(SECRETS, name) ?? {};
const detailsOf = (pem: string | undefined) => readCertificates(pem ?? "")[0]!;
const warnings = () => lines.filter(({ level }) => level === "warning").map((line) => line["@message"]);

function newKeeper(): CertificateKeeper {
  const record = ({ namespace, name }: EventObject, { type, reason }: EventText): void =>
    void events.push(`${type} ${reason} ${namespace}/${name}`);
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog({ level: "info", format: "json", write });
  return new CertificateKeeper(
    { log, clock: () => nowMs, objects, events: { record }, services: () => services },
    NAMING,
  );
}

beforeEach(() => {
  objects = new FakeObjects();
  nowMs = START_MS;
  services = [service("shop", "core", "shop.core"), service("shop", "edge", "shop.edge")];
  events = [];
  lines = [];
  keeper = newKeeper();
});

describe("CertificateKeeper", () => {
  it("makes the authority and every certificate when there is none", async () => {
    await pass();
    expect(objects.writes).toEqual([
      "weir-system/weir-ca",
      "weir-system/weir-control-plane-tls",
      "weir-system/weir-operator-tls",
      "shop/weir-ratelimit-tls",
    ]);
    expect(Object.keys(dataOf(CA))).toEqual(["tls.crt", "tls.key", "ca.crt"]);
    expect(Object.keys(dataOf(SHOP)).toSorted()).toEqual(["ca.crt", "core.crt", "core.key", "edge.crt", "edge.key"]);
    const core = new X509Certificate(dataOf(SHOP)["core.crt"]!);
    expect(core.subjectAltName).toBe("URI:spiffe://cluster.local/ns/shop/fleet/shop.core");
    expect(core.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(core.validToDate.toISOString()).toBe("2026-12-22T12:00:00.000Z");
    const operator = new X509Certificate(dataOf(OPERATOR)["tls.crt"]!);
    expect(operator.subjectAltName).toBe(
      "DNS:weir-operator, DNS:weir-operator.weir-system, DNS:weir-operator.weir-system.svc, " +
        "DNS:weir-operator.weir-system.svc.cluster.local, URI:spiffe://cluster.local/ns/weir-system/sa/weir-operator",
    );
    const controlPlane = new X509Certificate(dataOf(CONTROL_PLANE)["tls.crt"]!);
    for (const host of ["weir-control-plane.weir-system", "pod-0.weir-control-plane-headless.weir-system.svc"])
      expect(controlPlane.checkHost(host)).toBeDefined();
    expect(dataOf(CONTROL_PLANE)["ca.crt"]).toBe(dataOf(CA)["ca.crt"]);
    expect(events).toEqual([]);
  });

  it("writes nothing when everything is as it should be", async () => {
    await pass();
    objects.writes.length = 0;
    nowMs += 19 * DAY_MS;
    expect(await pass()).toEqual({ againAfterMs: 60_000 });
    expect(objects.writes).toEqual([]);
  });

  it("renews certificates at two thirds of their life, and says so", async () => {
    await pass();
    const before = dataOf(SHOP);
    nowMs += 20 * DAY_MS;
    await pass();
    expect(dataOf(SHOP)["core.crt"]).not.toBe(before["core.crt"]);
    expect(dataOf(SHOP)["core.key"]).not.toBe(before["core.key"]);
    expect(dataOf(SHOP)["ca.crt"]).toBe(before["ca.crt"]);
    expect(events).toEqual([
      "Normal CertificateRenewed weir-system/weir-control-plane-tls",
      "Normal CertificateRenewed weir-system/weir-operator-tls",
      "Normal CertificateRenewed shop/core",
      "Normal CertificateRenewed shop/edge",
    ]);
  });

  it("keeps every process trusting every other for 400 days, also when a Secret reaches pods an hour late", async () => {
    const stepMs = 9 * DAY_MS;
    services.pop();
    const authorities = new Set<string>();
    let longest = 0;
    let late: Record<string, string>[] = [];
    for (; nowMs < START_MS + 400 * DAY_MS; nowMs += nextStepMs(stepMs)) {
      await pass();
      const present = [CONTROL_PLANE, OPERATOR, SHOP].map(dataOf);
      for (const data of present) {
        for (const [key, pem] of Object.entries(data)) {
          if (!key.endsWith(".crt") || key === "ca.crt") continue;
          const leaf = detailsOf(pem);
          expect(leaf.validFromMs <= nowMs && nowMs < leaf.validToMs, `${key} is valid`).toBe(true);
          // Its key and bundle may be read now, or as they were at the pass before.
          for (const { "ca.crt": bundle = "" } of [...present, ...late])
            expect(trusts(bundle, pem), `${key} at ${new Date(nowMs).toISOString()}`).toBe(true);
        }
      }
      // What pods still had before this pass must be trusted by those that have the new Secret.
      for (const old of late)
        for (const [key, pem] of Object.entries(old))
          if (key.endsWith(".crt") && key !== "ca.crt")
            for (const { "ca.crt": bundle = "" } of present) expect(trusts(bundle, pem)).toBe(true);
      late = present;
      authorities.add(dataOf(CA)["tls.crt"]!);
      longest = Math.max(longest, readCertificates(dataOf(CA)["ca.crt"]!).length);
    }
    expect(authorities.size).toBe(2);
    expect(longest).toBe(2);
    expect(warnings()).toEqual([]);
  });

  /** Small steps while the next authority waits, so that each stage is seen. */
  function nextStepMs(usualMs: number): number {
    return dataOf(CA)["next.crt"] === undefined ? usualMs : HOUR_MS / 2;
  }

  function trusts(bundle: string, pem: string): boolean {
    const trusted = readCertificates(bundle).filter(({ validToMs }) => nowMs <= validToMs);
    return trusted.some((authority) =>
      isIssued.getOrInsertComputed(authority.pem + pem, () => isIssuedBy(detailsOf(pem), authority)),
    );
  }

  it("lets the next authority sign an hour after every Secret has it", async () => {
    await pass();
    const first = dataOf(CA)["tls.crt"];
    nowMs += 245 * DAY_MS;
    await pass();
    const next = dataOf(CA)["next.crt"]!;
    expect(dataOf(CA)["ca.crt"]).toBe(`${first}${next}`);
    expect(dataOf(SHOP)["ca.crt"]).toBe(`${first}${next}`);
    // The Secret of one namespace cannot be written.
    objects.edit(SECRETS, SHOP, (data) => ({ ...data, "ca.crt": first! }));
    objects.fail = (name) => {
      if (name === SHOP.name) throw new Error("forbidden");
    };
    for (let hour = 0; hour < 3; hour += 1) {
      nowMs += HOUR_MS;
      await expect(pass()).rejects.toThrow("forbidden");
    }
    expect(dataOf(CA)["tls.crt"]).toBe(first);
    objects.fail = () => undefined;
    await pass(); // Writes the bundle.
    await pass(); // Sees it everywhere.
    nowMs += HOUR_MS - 1;
    await pass();
    expect(dataOf(CA)["tls.crt"]).toBe(first);
    nowMs += 1;
    await pass();
    expect(dataOf(CA)["tls.crt"]).toBe(next);
    expect(dataOf(CA)["next.crt"]).toBeUndefined();
    expect(dataOf(SHOP)["ca.crt"]).toBe(`${next}${first}`);
    expect(isIssuedBy(detailsOf(dataOf(SHOP)["core.crt"]), detailsOf(next))).toBe(true);
    nowMs = START_MS + 365 * DAY_MS + 1;
    await pass();
    expect(dataOf(SHOP)["ca.crt"]).toBe(next);
  });

  it("waits 30 days for a Secret that cannot be written, not until the authority ends", async () => {
    await pass();
    nowMs += 245 * DAY_MS;
    objects.fail = (name) => {
      if (name === SHOP.name) throw new Error("the Secret is immutable");
    };
    await expect(pass()).rejects.toThrow("immutable");
    const next = dataOf(CA)["next.crt"];
    nowMs += 29 * DAY_MS;
    await expect(pass()).rejects.toThrow("immutable");
    expect(dataOf(CA)["next.crt"]).toBe(next);
    nowMs += DAY_MS;
    await expect(pass()).rejects.toThrow("immutable");
    expect(dataOf(CA)["tls.crt"]).toBe(next);
    expect(isIssuedBy(detailsOf(dataOf(CONTROL_PLANE)["tls.crt"]), detailsOf(next))).toBe(true);
  });

  it.each([
    { fault: "a broken certificate", edit: { "core.crt": "nonsense" } },
    { fault: "another's key", edit: { "core.key": "edge.key" } },
    { fault: "a missing key", edit: { "core.key": "" } },
    { fault: "another's certificate", edit: { "core.crt": "edge.crt", "core.key": "edge.key" } },
    { fault: "two certificates", edit: { "core.crt": "core.crt,edge.crt" } },
    { fault: "other authorities", edit: { "ca.crt": "nonsense" } },
  ])("repairs $fault", async ({ edit }) => {
    await pass();
    const before = dataOf(SHOP);
    objects.edit(SECRETS, SHOP, (data) => {
      const value = (text: string): string =>
        text
          .split(",")
          .map((name) => data[name] ?? name)
          .join("");
      return { ...data, ...Object.fromEntries(Object.entries(edit).map(([key, text]) => [key, value(text)])) };
    });
    await pass();
    const after = dataOf(SHOP);
    expect(after["ca.crt"]).toBe(before["ca.crt"]);
    const core = new X509Certificate(after["core.crt"]!);
    expect(core.subjectAltName).toBe("URI:spiffe://cluster.local/ns/shop/fleet/shop.core");
    expect(trusts(after["ca.crt"]!, after["core.crt"]!)).toBe(true);
    expect(after["edge.crt"]).toBe(before["edge.crt"]);
    objects.writes.length = 0;
    await pass();
    expect(objects.writes).toEqual([]);
  });

  it.each([
    { fault: "nonsense", edit: (data: Record<string, string>) => ({ ...data, "tls.key": "nonsense" }), others: 1 },
    { fault: "a missing certificate", edit: () => ({}), others: 0 },
    {
      fault: "a certificate that is none of an authority",
      edit: (data: Record<string, string>) => {
        const { "tls.crt": cert = "", "tls.key": key = "" } = dataOf(OPERATOR);
        return { ...data, "tls.crt": cert, "tls.key": key };
      },
      others: 1,
    },
  ])("replaces the authority when its Secret has $fault, and trusts the earlier one on", async ({ edit, others }) => {
    await pass();
    const first = dataOf(CA)["tls.crt"]!;
    objects.edit(SECRETS, CA, edit);
    await pass();
    const bundle = readCertificates(dataOf(CA)["ca.crt"]!).map(({ pem }) => pem);
    expect(bundle).toHaveLength(1 + others);
    if (others > 0) expect(bundle[1]).toBe(first);
    expect(isIssuedBy(detailsOf(dataOf(SHOP)["core.crt"]), detailsOf(dataOf(CA)["tls.crt"]))).toBe(true);
    expect(warnings()).toContain("Replaced the certificate authority");
    expect(events[0]).toBe("Warning CertificateRenewed weir-system/weir-ca");
  });

  it("makes certificates that are valid now when the clock was set back", async () => {
    await pass();
    nowMs -= 10 * DAY_MS;
    await pass();
    for (const pem of [dataOf(CA)["tls.crt"], dataOf(SHOP)["core.crt"]])
      expect(detailsOf(pem).validFromMs).toBeLessThan(nowMs);
    expect(warnings()).toContain("Replaced a certificate");
  });

  it("makes new certificates when the operator was away until all had expired", async () => {
    await pass();
    nowMs += 500 * DAY_MS;
    await pass();
    expect(detailsOf(dataOf(CA)["tls.crt"]).validToMs).toBe(nowMs + 365 * DAY_MS);
    expect(dataOf(SHOP)["ca.crt"]).toBe(dataOf(CA)["tls.crt"]);
    expect(detailsOf(dataOf(SHOP)["core.crt"]).validToMs).toBe(nowMs + 30 * DAY_MS);
  });

  it("takes an authority that is brought along, with its key", async () => {
    const own = await createAuthority({ commonName: "own", now: new Date(nowMs), validDays: 3650 });
    const metadata = { ...CA, labels: { "app.kubernetes.io/managed-by": "weir-operator" } };
    objects.put(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
    objects.edit(SECRETS, CA, () => ({ "tls.crt": own.certPem, "tls.key": own.keyPem }));
    await pass();
    expect(dataOf(SHOP)["ca.crt"]).toBe(own.certPem);
    expect(trusts(own.certPem, dataOf(SHOP)["core.crt"]!)).toBe(true);
  });

  it.each([{ name: CA }, { name: SHOP }, { name: OPERATOR }])(
    "does not change a Secret $name.name without its label, and says so once",
    async ({ name }) => {
      objects.put(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: name, data: { "tls.key": "bWluZQ==" } });
      await pass();
      await pass();
      expect(objects.dataOf(SECRETS, name)).toEqual({ "tls.key": "mine" });
      expect(events).toEqual([`Warning CertificateNotKept ${name.namespace}/${name.name}`]);
      expect(dataOf(CONTROL_PLANE)["tls.crt"] === undefined).toBe(name === CA);
    },
  );

  it("does not take a Secret that another one makes at the same time", async () => {
    const metadata = { ...SHOP };
    objects.fail = (name) => {
      // Between the look and the write.
      if (name === CA.name && objects.dataOf(SECRETS, CA) !== undefined) return;
      if (name === SHOP.name && objects.dataOf(SECRETS, CA) !== undefined)
        objects.put(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: { a: "bWluZQ==" } });
    };
    await expect(pass()).rejects.toMatchObject({ kind: "conflict" });
    expect(objects.dataOf(SECRETS, SHOP)).toEqual({ a: "mine" });
  });

  it("gives a fleet's certificate to its owner only, and removes those of services that are gone", async () => {
    services.push(service("bank", "core", "shop.core", 1));
    await pass();
    expect(objects.dataOf(SECRETS, BANK)).toBeUndefined();
    services = services.filter(({ name, namespace }) => namespace === "bank" || name === "edge");
    await pass();
    expect(Object.keys(dataOf(SHOP)).toSorted()).toEqual(["ca.crt", "edge.crt", "edge.key"]);
    expect(new X509Certificate(dataOf(BANK)["core.crt"]!).subjectAltName).toBe(
      "URI:spiffe://cluster.local/ns/bank/fleet/shop.core",
    );
  });

  it("issues a certificate anew when the fleet of its service changes", async () => {
    await pass();
    services[0] = service("shop", "core", "other");
    await pass();
    expect(new X509Certificate(dataOf(SHOP)["core.crt"]!).subjectAltName).toBe(
      "URI:spiffe://cluster.local/ns/shop/fleet/other",
    );
  });

  it("keeps the other Secrets when one cannot be written, and fails", async () => {
    services.push(service("bank", "core", "bank.core"));
    objects.fail = (name) => {
      if (name === CONTROL_PLANE.name) throw new Error("forbidden");
    };
    await expect(pass()).rejects.toThrow("forbidden");
    expect(dataOf(SHOP)["core.crt"]).toBeDefined();
    expect(dataOf(BANK)["core.crt"]).toBeDefined();
  });

  it("continues where another replica was interrupted", async () => {
    objects.fail = (name) => {
      if (name === OPERATOR.name) throw new Error("killed");
    };
    await expect(pass()).rejects.toThrow("killed");
    objects.fail = () => undefined;
    keeper = newKeeper();
    await pass();
    expect(isIssuedBy(detailsOf(dataOf(OPERATOR)["tls.crt"]), detailsOf(dataOf(CA)["tls.crt"]))).toBe(true);
  });
});
