// Keeps the Secrets with certificates as they should be: reads them all, plans, and writes the
// difference, the authority first.
import { createAuthority, loadAuthority } from "@weir/certificates/authority";
import { readCertificates } from "@weir/certificates/inspect";
import type { Log } from "@weir/common/log/log";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";

import type { EventObject, EventRecorder, EventText } from "../events/event-recorder.ts";
import { MANAGED_LABEL, MANAGER } from "../leader/managed-by.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import {
  afterStep,
  authorityData,
  authorityStep,
  type AuthorityState,
  bundleOf,
  readAuthority,
} from "./authority-plan.ts";
import {
  AUTHORITY_SECRET,
  BUNDLE_KEY,
  isAsWanted,
  readSecret,
  secretObject,
  SECRETS,
  type SecretData,
  type StoredSecret,
  type WantedSecret,
} from "./certificate-secret.ts";
import {
  type CertificateNaming,
  type CertifiedService,
  leafFault,
  type WantedLeaf,
  wantedLeaves,
  type WantedLeaves,
} from "./leaf-plan.ts";
import { readWebhookTrust, type WebhookTrust, writeWebhookTrust } from "./webhook-trust.ts";

/** Days that certificates last, and those of an authority. */
const LEAF_DAYS = 30;
const AUTHORITY_DAYS = 365;

/**
 * How long every Secret must have had the next authority before it signs, in milliseconds. A kubelet
 * brings a changed Secret to its pods within two minutes; this also covers one that is restarted.
 */
const SETTLE_MS = 3_600_000;

/** How often the Secrets are compared with what is wanted, in milliseconds. */
const CHECK_INTERVAL_MS = 60_000;

export interface CertificateKeeperDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly objects: Pick<ObjectWriter, "apply"> & Pick<ObjectClient, "get">;
  readonly events: Pick<EventRecorder, "record">;
  /** The RateLimitServices that there are now. */
  readonly services: () => readonly CertifiedService[];
}

/** A Secret with certificates as it is. */
interface FoundLeaves {
  readonly wanted: WantedLeaves;
  /** undefined: there is none. */
  readonly stored: StoredSecret | undefined;
}

/** The Secrets with certificates. Every key of its controller means all of them. */
export class CertificateKeeper implements Reconciler {
  readonly name = "certificate";
  /** The key to reconcile. */
  readonly key: ObjectKey;
  readonly #deps: CertificateKeeperDeps;
  readonly #naming: CertificateNaming;
  /** `<namespace>/<name>` of the Secrets that were found not to be ours: each is logged once. */
  readonly #foreign = new Set<string>();
  #isClockBehind = false;

  constructor(deps: CertificateKeeperDeps, naming: CertificateNaming) {
    this.#deps = deps;
    this.#naming = naming;
    this.key = { namespace: naming.namespace, name: AUTHORITY_SECRET };
  }

  /** `<namespace>/<name>` of the Secrets that were found not to be the operator's. */
  get foreignSecrets(): ReadonlySet<string> {
    return this.#foreign;
  }

  /** Fails after all Secrets were tried, with the first failure. */
  async reconcile(_key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const stored = await this.#read(this.key, signal);
    if (stored?.isManaged === false) this.#reportForeign(this.key, stored);
    else await this.#keepAll(stored, signal);
    return { againAfterMs: CHECK_INTERVAL_MS };
  }

  async #keepAll(storedAuthority: StoredSecret | undefined, signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        failures.push(error);
        return undefined;
      }
    };
    const found: FoundLeaves[] = [];
    for (const wanted of wantedLeaves(this.#naming, this.#deps.services())) {
      const one = await attempt(async () => ({ wanted, stored: await this.#read(wanted, signal) }));
      if (one?.stored?.isManaged === false) this.#reportForeign(wanted, one.stored);
      else if (one !== undefined) found.push(one);
    }
    const { hasWebhook = true } = this.#naming;
    const webhook = hasWebhook ? await attempt(() => readWebhookTrust(this.#deps.objects, signal)) : undefined;
    // A bundle that could not be read may lack the next authority.
    const bundles = failures.length > 0 ? [""] : bundlesOf(found, webhook);
    this.#checkClock([storedAuthority, ...found.map(({ stored }) => stored)].filter((each) => each !== undefined));
    const latestMs = this.#latestMs(storedAuthority, found);
    const state = await this.#keepAuthority(storedAuthority, { bundles, latestMs }, signal);
    for (const one of found) await attempt(() => this.#keepLeaves(state, { ...one, latestMs }, signal));
    if (webhook !== undefined) await attempt(() => this.#keepWebhook(state, webhook, signal));
    if (failures.length > 0) throw failures[0];
  }

  /** Does the next step of the authority. */
  async #keepAuthority(
    stored: StoredSecret | undefined,
    { bundles, latestMs }: { readonly bundles: readonly string[]; readonly latestMs: number },
    signal: AbortSignal,
  ): Promise<AuthorityState> {
    const nowMs = this.#deps.clock();
    const state = readAuthority(stored, nowMs);
    const isNextTrusted = bundles.every((bundle) => bundle.includes(state.next?.details.pem ?? ""));
    const step = authorityStep(state, { isNextTrusted, nowMs, settleMs: SETTLE_MS });
    const isMade = step.kind === "create" || step.kind === "introduce";
    const now = new Date(latestMs);
    const made = isMade
      ? await createAuthority({ commonName: `Weir ${now.toISOString()}`, now, validDays: AUTHORITY_DAYS })
      : undefined;
    const after = afterStep(state, step, made, nowMs);
    await this.#write({ ...this.key, ...authorityData(after) }, stored, signal);
    if (step.kind === "keep") return after;
    const fields = { secret: nameOf(this.key), step: step.kind, authority: after.present?.details.commonName };
    if (step.kind === "create" && stored !== undefined)
      this.#deps.log.warn("Replaced the certificate authority", { ...fields, reason: step.reason });
    else this.#deps.log.info("Changed the certificate authority", fields);
    if (stored !== undefined && (step.kind === "create" || step.kind === "promote"))
      this.#record(secretSubject(this.key, stored), {
        type: step.kind === "create" ? "Warning" : "Normal",
        reason: "CertificateRenewed",
        note:
          step.kind === "create"
            ? `The certificate authority was replaced: ${step.reason}`
            : "The next certificate authority signs now",
      });
    return after;
  }

  /** Logs once that the clock is behind: certificates that are not valid yet are kept. */
  #checkClock(secrets: readonly StoredSecret[]): void {
    const nowMs = this.#deps.clock();
    const newestMs = Math.max(...secrets.map((secret) => newestStartMs(secret)));
    const isBehind = nowMs < newestMs;
    if (isBehind && !this.#isClockBehind)
      this.#deps.log.warn("The clock is behind the certificates, which are kept", {
        clock: new Date(nowMs).toISOString(),
        newestCertificateValidFrom: new Date(newestMs).toISOString(),
      });
    this.#isClockBehind = isBehind;
  }

  /**
   * The latest time that is known, which certificates are made with: a clock that is behind would make such
   * as have expired already. Secrets of other namespaces do not count: who may write there could set it.
   */
  #latestMs(authority: StoredSecret | undefined, found: readonly FoundLeaves[]): number {
    const own = found.filter(({ wanted }) => wanted.namespace === this.#naming.namespace);
    const written = [authority, ...own.map(({ stored }) => stored)].map((each) => each?.writtenMs ?? -Infinity);
    return Math.max(this.#deps.clock(), ...written);
  }

  async #keepLeaves(
    state: AuthorityState,
    { wanted, stored, latestMs }: FoundLeaves & { readonly latestMs: number },
    signal: AbortSignal,
  ): Promise<void> {
    // A Secret that no service needs is not made; one that exists loses the certificates.
    if (wanted.leaves.length === 0 && stored === undefined) return;
    const data: Record<string, string> = { [BUNDLE_KEY]: bundleOf(state) };
    const reports: (() => void)[] = [];
    for (const leaf of wanted.leaves) {
      const { pairs, report } = await this.#leafData(state, leaf, { wanted, stored, latestMs });
      Object.assign(data, pairs);
      if (report !== undefined) reports.push(report);
    }
    const { namespace, name, owners } = wanted;
    await this.#write({ namespace, name, data, ...(owners !== undefined && { owners }) }, stored, signal);
    for (const report of reports) report();
  }

  /** The pair as it is, or a new one, which is reported after it was written. */
  async #leafData(
    { present }: AuthorityState,
    leaf: WantedLeaf,
    { wanted: secret, stored, latestMs }: FoundLeaves & { readonly latestMs: number },
  ): Promise<{ readonly pairs: SecretData; readonly report?: () => void }> {
    if (present === undefined) throw new TypeError("Cannot issue a certificate without an authority");
    const nowMs = Math.max(latestMs, present.details.validFromMs);
    const { data = {}, writtenMs } = stored ?? {};
    const [cert, key] = [`${leaf.pair}.crt`, `${leaf.pair}.key`];
    const fault = leafFault(data, leaf, present.details, { nowMs, writtenMs });
    if (fault === undefined) return { pairs: { [cert]: data[cert] ?? "", [key]: data[key] ?? "" } };
    const authority = await loadAuthority(present.certPem, present.keyPem);
    const made = await authority.issue({ ...leaf.names, now: new Date(nowMs), validDays: LEAF_DAYS });
    const report = (): void => {
      const fields = { secret: nameOf(secret), certificate: cert, reason: fault.reason };
      if (fault.kind === "broken") this.#deps.log.warn("Replaced a certificate", fields);
      else this.#deps.log.info("Issued a certificate", fields);
      const regarding = leaf.service ?? (stored && secretSubject(secret, stored));
      if (fault.kind === "missing" || regarding === undefined) return;
      const note = `${cert} in the Secret ${nameOf(secret)} was issued anew, for ${LEAF_DAYS} days: ${fault.reason}`;
      this.#record(regarding, {
        type: fault.kind === "broken" ? "Warning" : "Normal",
        reason: "CertificateRenewed",
        note,
      });
    };
    return { pairs: { [cert]: made.certPem, [key]: made.keyPem }, report };
  }

  async #keepWebhook(state: AuthorityState, webhook: WebhookTrust, signal: AbortSignal): Promise<void> {
    const bundle = bundleOf(state);
    if (webhook.bundle === bundle) return;
    await writeWebhookTrust(this.#deps.objects, { ...webhook, bundle }, signal);
    this.#deps.log.info("Wrote the authorities of the webhook");
  }

  async #read(key: ObjectKey, signal: AbortSignal): Promise<StoredSecret | undefined> {
    const object = await this.#deps.objects.get(SECRETS, key, signal);
    const stored = object && readSecret(object);
    if (stored?.isManaged !== false) this.#foreign.delete(nameOf(key));
    return stored;
  }

  async #write(wanted: WantedSecret, stored: StoredSecret | undefined, signal: AbortSignal): Promise<void> {
    if (stored !== undefined && isAsWanted(stored, wanted)) return;
    // Not forced when it is new: what another one has made in the meantime is not ours.
    const options = { fieldManager: MANAGER, isForced: stored !== undefined };
    await this.#deps.objects.apply(SECRETS, secretObject(wanted, stored), options, signal);
  }

  #reportForeign(key: ObjectKey, stored: StoredSecret): void {
    const secret = nameOf(key);
    if (this.#foreign.has(secret)) return;
    this.#foreign.add(secret);
    const note = `The Secret is not changed: it has no label ${MANAGED_LABEL}=${MANAGER}`;
    this.#deps.log.warn("Cannot keep a certificate", { of: secret, reason: note });
    this.#record(secretSubject(key, stored), { type: "Warning", reason: "CertificateNotKept", note });
  }

  #record(
    { apiVersion, kind, namespace, name, uid }: EventObject,
    event: Pick<EventText, "type" | "reason" | "note">,
  ): void {
    this.#deps.events.record({ apiVersion, kind, namespace, name, uid }, { ...event, action: "RenewCertificate" });
  }
}

/** The PEM texts that the consumers of certificates trust now; those without any yet get all of them. */
function bundlesOf(found: readonly FoundLeaves[], webhook: WebhookTrust | undefined): readonly string[] {
  const stored = found.flatMap((each) => (each.stored === undefined ? [] : [each.stored.data[BUNDLE_KEY] ?? ""]));
  return webhook === undefined ? stored : [...stored, webhook.bundle];
}

/** From when the newest certificate is valid; without those of a clock that was ahead, which are replaced. */
function newestStartMs({ data, writtenMs = Infinity }: StoredSecret): number {
  const starts = readCertificates(Object.values(data).join("\n")).map(({ validFromMs }) => validFromMs);
  return Math.max(...starts.filter((startMs) => startMs <= writtenMs));
}

function secretSubject({ namespace, name }: ObjectKey, { uid }: StoredSecret): EventObject {
  return { apiVersion: "v1", kind: "Secret", namespace, name, uid };
}

function nameOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
