// The certificates of a cluster in memory, with clocks that a test turns.
import { type CertificateDetails, isIssuedBy, readCertificates } from "@weir/certificates/inspect";
import { createLog } from "@weir/common/log/log";

import type { EventObject, EventText } from "../events/event-recorder.ts";
import type { ReconcileResult } from "../reconcile/reconciler.ts";
import { CertificateKeeper } from "./certificate-keeper.ts";
import { SECRETS } from "./certificate-secret.ts";
import { FakeObjects } from "./fake-objects.suite.ts";
import type { CertificateNaming, CertifiedService } from "./leaf-plan.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** When a test begins, in milliseconds since the epoch. */
export const START_MS = Date.parse("2026-11-22T12:00:00Z");

const NAMING: CertificateNaming = {
  namespace: "weir-system",
  clusterDomain: "cluster.local",
  controlPlaneServices: ["weir-control-plane", "weir-control-plane-headless"],
  webhookService: "weir-operator",
};

/** The Secrets of the authority, the control plane, the operator, and of two namespaces with services. */
export const CA = { namespace: "weir-system", name: "weir-ca" };
export const CONTROL_PLANE = { namespace: "weir-system", name: "weir-control-plane-tls" };
export const OPERATOR = { namespace: "weir-system", name: "weir-operator-tls" };
export const SHOP = { namespace: "shop", name: "weir-ratelimit-tls" };
export const BANK = { namespace: "bank", name: "weir-ratelimit-tls" };

/** Checked signatures, by authority and certificate: checking them takes most of the time. */
const isIssued = new Map<string, boolean>();

/** A RateLimitService. */
export function service(namespace: string, name: string, fleet: string, createdMs = 0): CertifiedService {
  const identity = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", uid: `${namespace}-${name}` };
  return { ...identity, namespace, name, fleet, createdMs };
}

/** The first certificate of a text. */
export function detailsOf(pem: string | undefined): CertificateDetails {
  return readCertificates(pem ?? "")[0]!;
}

/** The Secrets, two services of the namespace shop, and the keeper. */
export class CertificateFixture {
  /** The true time, which the API server has, in milliseconds since the epoch. */
  nowMs = START_MS;
  /** How far the clock of the operator is ahead, in milliseconds. */
  clockErrorMs = 0;
  services: CertifiedService[] = [service("shop", "core", "shop.core"), service("shop", "edge", "shop.edge")];
  readonly objects = new FakeObjects(() => this.nowMs);
  readonly events: string[] = [];
  readonly #lines: Record<string, unknown>[] = [];
  #keeper = this.#newKeeper();

  /** One look at all Secrets. */
  async pass(): Promise<ReconcileResult> {
    return await this.#keeper.reconcile(this.#keeper.key, new AbortController().signal);
  }

  /** Another replica is the leader, with other names. */
  restart(naming: Partial<CertificateNaming> = {}): void {
    this.#keeper = this.#newKeeper(naming);
  }

  /** The data of a Secret, decoded; empty when there is none. */
  dataOf(name: typeof CA): Record<string, string> {
    return this.objects.dataOf(SECRETS, name) ?? {};
  }

  warnings(): readonly unknown[] {
    return this.#lines.filter(({ level }) => level === "warning").map((line) => line["@message"]);
  }

  /** Returns true if a process with this bundle trusts the certificate now. */
  trusts(bundle: string, pem: string): boolean {
    const trusted = readCertificates(bundle).filter(({ validToMs }) => this.nowMs <= validToMs);
    return trusted.some((authority) =>
      isIssued.getOrInsertComputed(authority.pem + pem, () => isIssuedBy(detailsOf(pem), authority)),
    );
  }

  #newKeeper(naming: Partial<CertificateNaming> = {}): CertificateKeeper {
    const record = ({ namespace, name }: EventObject, { type, reason }: EventText): void =>
      void this.events.push(`${type} ${reason} ${namespace}/${name}`);
    const write = (line: string): void => void this.#lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = createLog({ level: "info", format: "json", write });
    const clock = (): number => this.nowMs + this.clockErrorMs;
    return new CertificateKeeper(
      { log, clock, objects: this.objects, events: { record }, services: () => this.services },
      { ...NAMING, ...naming },
    );
  }
}
