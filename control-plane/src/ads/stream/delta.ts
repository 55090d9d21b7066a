// The incremental protocol for one type on one stream: a response has what changed, and the next one follows
// its answer, so that what the pod holds is known.
import type { DeltaDiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import { revisionIn, type SentRevisions } from "../../pods/pod-revisions.ts";
import { foreignRevision, type Revision } from "../../snapshot/revision.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { nextStep, NOTHING, type Step } from "./delta-step.ts";
import { HELD_MAX, NAMES_MAX, tooManyNames } from "./request-violation.ts";
import { type DueResponse, type Meaning, nackText, type Variant } from "./variant.ts";

/** Bytes of a response until the pod has everything for the first time: it loads one while it reads the next. */
const START_RESPONSE_BYTES = 256 * 1024;

/** All resources, in a list of names. */
const WILDCARD = "*";

const NO_NAMES: ReadonlySet<string> = new Set();

interface SentStep {
  readonly step: Step;
  readonly nonce: string;
  /** The names in it that were owed. */
  readonly owed: ReadonlySet<string>;
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
  /** The subscription of the pod: all, and names beyond that; undefined before its first request. */
  #subscription: { readonly isWildcard: boolean; readonly names: ReadonlySet<string> } | undefined;
  #owed = NO_NAMES;
  #sent: SentStep | undefined;
  /** The step to a snapshot, until the next request or response: it is asked for again when it may be sent. */
  #due: { readonly snapshot: Snapshot; readonly step: Step } | undefined;
  /** The version that the pod would have if it had not NACKed the last response. */
  #nackedVersion: string | undefined;
  /** True once the pod has ACKed a response on this stream. */
  #hasAcked = false;
  /** True once the pod has had everything. */
  #hasStarted = false;
  /** The resources of responses that it NACKed, until it has everything that it can have. */
  #singles = NO_NAMES;

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
    this.#due = undefined;
    const meaning = this.#answer(request);
    if (this.#subscription === undefined) {
      const versions = Object.entries(request.initialResourceVersions);
      if (versions.length > HELD_MAX)
        return { kind: "violation", message: tooManyNames("initial_resource_versions", versions.length, HELD_MAX) };
      this.#held = this.#heldOf(versions);
    }
    this.#subscribe(request);
    const names = Math.max(this.#subscription?.names.size ?? 0, this.#owed.size);
    if (names > NAMES_MAX) return { kind: "violation", message: tooManyNames("the subscription", names) };
    return meaning;
  }

  next(snapshot: Snapshot): DueResponse | undefined {
    const { wants } = this;
    if (wants === undefined || this.#sent?.isAnswered === false) return undefined;
    if (this.#due?.snapshot !== snapshot) this.#due = { snapshot, step: this.#stepTo(snapshot, wants) };
    const { step } = this.#due;
    const { version } = step.result.snapshot;
    const isEmpty = step.changed.length === 0 && step.removed.length === 0;
    const isNacked = version === this.#nackedVersion;
    if (isEmpty) {
      this.#complete(step.result);
      // A version that it NACKed before is sent again if it is published again.
      if (!isNacked) this.#nackedVersion = undefined;
    }
    // A pod that lacks nothing is sent one response, too: its ACK reports what it has.
    if (isNacked || (isEmpty && this.#hasAcked)) return undefined;
    return {
      version,
      get pieces() {
        return step.pieces();
      },
      sent: (nonce) => this.#afterSending(step, nonce),
    };
  }

  #stepTo(snapshot: Snapshot, wants: "all" | ReadonlySet<string>): Step {
    const { snapshotMaxBytes, startResponseBytes = START_RESPONSE_BYTES } = this.#deps;
    return nextStep(this.#held, snapshot, {
      names: wants === "all" ? undefined : wants,
      owed: this.#owed,
      responseMaxBytes: this.#hasStarted ? snapshotMaxBytes : Math.min(startResponseBytes, snapshotMaxBytes),
      snapshotMaxBytes,
      singles: this.#singles,
    });
  }

  #answer({ responseNonce, errorDetail }: DeltaDiscoveryRequest): Meaning {
    const sent = this.#sent;
    if (sent === undefined) return { kind: "subscribe" };
    if (responseNonce === "") return { kind: "update" };
    if (responseNonce !== sent.nonce) return { kind: "stale" };
    if (sent.isAnswered) return { kind: "update" };
    const { changed, removed, result, isLast } = sent.step;
    this.#sent = { ...sent, isAnswered: true };
    if (errorDetail !== undefined) {
      const names = new Set(changed.map(nameOf));
      const gone = new Set(removed);
      this.#singles = this.#singles.union(names).union(gone);
      // Of the others the difference brings what it lacks.
      const isLost = (name: string): boolean => revisionIn(this.#held, name) !== undefined || gone.has(name);
      this.#owed = this.#owed.union(new Set([...sent.owed].filter(isLost)));
      this.#nackedVersion = result.snapshot.version;
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
    const owed = new Set(this.#owed);
    let isWildcard = this.#subscription?.isWildcard ?? resourceNamesSubscribe.length === 0;
    for (const name of resourceNamesSubscribe) {
      if (name === WILDCARD) isWildcard = true;
      else {
        names.add(name);
        owed.add(name);
      }
    }
    for (const name of resourceNamesUnsubscribe) {
      if (name === WILDCARD) isWildcard = false;
      else if (names.delete(name) && isWildcard) owed.add(name); // The client may have dropped it.
    }
    // Other names are other content, also where the version is that of a response that it NACKed.
    if (resourceNamesSubscribe.length + resourceNamesUnsubscribe.length > 0) this.#nackedVersion = undefined;
    this.#subscription = { isWildcard, names };
    this.#owed = isWildcard ? owed : owed.intersection(names);
    if (!isWildcard) this.#held = { ...this.#held, names: this.#held.names?.intersection(names) ?? names };
  }

  /** The revisions that the pod holds from a stream before: those that this replica keeps, and others. */
  #heldOf(versions: readonly (readonly [name: string, version: string])[]): SentRevisions {
    const revisions = versions.map(
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
    this.#singles = NO_NAMES;
  }

  #afterSending(step: Step, nonce: string): void {
    this.#due = undefined;
    // As a rule nothing is owed, and a response may have thousands of resources.
    const isAnyOwed = this.#owed.size > 0;
    const owed = isAnyOwed
      ? this.#owed.intersection(new Set([...step.changed.map(nameOf), ...step.removed]))
      : NO_NAMES;
    if (isAnyOwed) this.#owed = this.#owed.difference(owed);
    this.#sent = { step, nonce, owed, isAnswered: false };
  }
}

function nameOf({ name }: Revision): string {
  return name;
}
