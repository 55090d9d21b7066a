// The incremental protocol for one type on one stream: a response has what changed, and the next one follows
// its answer, so that what the pod holds is known.
import type { DeltaDiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { SentRevisions } from "../../pods/pod-revisions.ts";
import { foreignRevision, type Revision } from "../../snapshot/revision.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { nextStep, NOTHING, type Step } from "./delta-step.ts";
import { type DueResponse, type Meaning, nackText, type Variant } from "./variant.ts";

/** Bytes of a response until the pod has everything for the first time: it loads one while it reads the next. */
const START_RESPONSE_BYTES = 256 * 1024;

/** All resources, in a list of names. */
const WILDCARD = "*";

interface SentStep {
  readonly step: Step;
  readonly nonce: string;
  readonly isAnswered: boolean;
}

export interface DeltaDeps {
  /** The kept revisions of a published resource. */
  readonly revisionsOf: (name: string) => readonly Revision[];
  readonly snapshotMaxBytes: number;
  /** For tests: instead of START_RESPONSE_BYTES. */
  readonly startResponseBytes?: number;
}

/** The incremental variant on one stream. */
export class DeltaVariant implements Variant {
  readonly #deps: DeltaDeps;
  #held = NOTHING;
  /** What the pod subscribes to: all, and names beyond that; undefined before its first request. */
  #subscription: { readonly isWildcard: boolean; readonly names: ReadonlySet<string> } | undefined;
  #owed = new Set<string>();
  #sent: SentStep | undefined;
  /** The version that the pod would have if it had not NACKed the last response. */
  #nackedVersion: string | undefined;
  /** Whether the pod has ACKed a response on this stream. */
  #hasAcked = false;
  /** Whether the pod has had everything once. */
  #hasStarted = false;
  /** Since a NACK, until the pod has everything that it can have. */
  #isSingle = false;

  constructor(deps: DeltaDeps) {
    this.#deps = deps;
  }

  get held(): SentRevisions {
    return this.#held;
  }

  get wants(): "all" | ReadonlySet<string> | undefined {
    return this.#subscription?.isWildcard === true ? "all" : this.#subscription?.names;
  }

  get hasAnswered(): boolean {
    return this.#sent?.isAnswered === true;
  }

  receive(request: DeltaDiscoveryRequest): Meaning {
    const meaning = this.#answer(request);
    if (this.#subscription === undefined) this.#held = this.#heldOf(request.initialResourceVersions);
    this.#subscribe(request);
    return meaning;
  }

  next(snapshot: Snapshot): DueResponse | undefined {
    const { wants } = this;
    if (wants === undefined || this.#sent?.isAnswered === false) return undefined;
    const { snapshotMaxBytes, startResponseBytes = START_RESPONSE_BYTES } = this.#deps;
    const step = nextStep(this.#held, snapshot, {
      names: wants === "all" ? undefined : wants,
      owed: this.#owed,
      responseMaxBytes: this.#hasStarted ? snapshotMaxBytes : Math.min(startResponseBytes, snapshotMaxBytes),
      snapshotMaxBytes,
      isSingle: this.#isSingle,
    });
    const { version } = step.result.snapshot;
    const isEmpty = step.changed.length === 0 && step.removed.length === 0;
    if (isEmpty) this.#complete(step.result);
    // A pod that lacks nothing is sent one response, too: its ACK reports what it has.
    if (version === this.#nackedVersion || (isEmpty && this.#hasAcked)) return undefined;
    return {
      version,
      get pieces() {
        return step.pieces();
      },
      sent: (nonce) => this.#afterSending(step, nonce),
    };
  }

  #answer({ responseNonce, errorDetail }: DeltaDiscoveryRequest): Meaning {
    const sent = this.#sent;
    if (sent === undefined) return { kind: "subscribe" };
    if (responseNonce === "") return { kind: "update" };
    if (responseNonce !== sent.nonce) return { kind: "stale" };
    if (sent.isAnswered) return { kind: "update" };
    const { changed, result, isLast } = sent.step;
    this.#sent = { ...sent, isAnswered: true };
    if (errorDetail !== undefined) {
      this.#isSingle = true;
      this.#nackedVersion = result.snapshot.version;
      const names = new Set(changed.map(({ name }) => name));
      return { kind: "nack", sent: { ...result, names }, message: nackText(errorDetail.message) };
    }
    this.#hasAcked = true;
    this.#nackedVersion = undefined;
    this.#held = result;
    if (isLast) this.#complete(result);
    return { kind: "ack", sent: result };
  }

  /** Takes the changes of a subscription, also those of a stale request. */
  #subscribe({ resourceNamesSubscribe, resourceNamesUnsubscribe }: DeltaDiscoveryRequest): void {
    const names = new Set(this.#subscription?.names);
    let isWildcard = this.#subscription?.isWildcard ?? resourceNamesSubscribe.length === 0;
    for (const name of resourceNamesSubscribe) {
      if (name === WILDCARD) isWildcard = true;
      else {
        names.add(name);
        this.#owed.add(name);
      }
    }
    for (const name of resourceNamesUnsubscribe) {
      if (name === WILDCARD) isWildcard = false;
      else if (names.delete(name) && isWildcard) this.#owed.add(name); // The client may have dropped it.
    }
    this.#subscription = { isWildcard, names };
    if (isWildcard) return;
    this.#owed = this.#owed.intersection(names);
    this.#held = { ...this.#held, names: this.#held.names?.intersection(names) ?? names };
  }

  /** What the pod holds from a stream before: revisions that this replica keeps, and others. */
  #heldOf(versions: Readonly<Record<string, string>>): SentRevisions {
    const revisions = Object.entries(versions).map(
      ([name, version]) =>
        this.#deps.revisionsOf(name).find(({ digest }) => digest === version) ?? foreignRevision(name, version),
    );
    if (revisions.length === 0) return NOTHING;
    const sorted = revisions.toSorted((left, right) => compareCodeUnits(left.name, right.name));
    return { snapshot: new Snapshot(sorted), names: undefined };
  }

  #complete(result: SentRevisions): void {
    this.#held = result;
    this.#hasStarted = true;
    this.#isSingle = false;
  }

  #afterSending(step: Step, nonce: string): void {
    this.#sent = { step, nonce, isAnswered: false };
    if (this.#owed.size === 0) return; // As a rule: a response may have thousands of resources.
    for (const { name } of step.changed) this.#owed.delete(name);
    for (const name of step.removed) this.#owed.delete(name);
  }
}
