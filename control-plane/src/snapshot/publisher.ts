// The loop from source to snapshots: reads the source after a change, translates the resources and
// publishes the result. Streams ask for the active snapshot and are notified when it changes.
import { describeError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { Listeners } from "@weir/common/lifecycle/listeners";
import type { Log } from "@weir/common/log/log";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import type { Tracing } from "@weir/common/tracing/tracing";
import { timeSliced } from "@weir/common/turn/time-sliced";

import { translationSteps } from "../translate/translate-resources.ts";
import type { AcceptedResource, DesiredConfiguration } from "../translate/desired-configuration.ts";
import type { Source, SourceState } from "../source/source.ts";
import { Debounce } from "./debounce.ts";
import { admit, type Admission, type AdmissionBounds, type Applicant } from "./admission.ts";
import { type Revision, Revisions } from "./revision.ts";
import { RevisionHistory, type IsLoaded } from "./revision-history.ts";
import { logAdmission, logPublication, logRefusals } from "./publication-log.ts";
import { nextReleaseMs, prolongWaits, type Publication, publicationFor, publish, UNPUBLISHED } from "./publication.ts";
import { isSamePublished, type PublishedRevision, type Snapshot, type SnapshotSet, snapshotSteps } from "./snapshot.ts";

/** Longest time between two checks of whether an empty set may be published, in milliseconds. */
const RELEASE_CHECK_MS = 1000;

/** How long changes are collected, and the bounds of a publication. */
export interface PublisherOptions extends AdmissionBounds {
  /** How long a set must stay empty until it is published, in milliseconds; 0: no wait. */
  readonly allowEmptyAfterMs: number;
  readonly debounceQuietMs: number;
  readonly debounceMaxMs: number;
}

/** The state that the publisher has derived from the source, for reports. */
export interface PublisherState {
  /** The state of the source when it was last read; undefined until then. */
  readonly read: SourceState | undefined;
  /** undefined until the source was read for the first time. */
  readonly desired: DesiredConfiguration | undefined;
  readonly publication: Publication;
  /** When each fleet last got another snapshot, milliseconds since the epoch, by fleet. */
  readonly publishedMs: ReadonlyMap<string, number>;
  /** When the first change that led to it was noticed, milliseconds since the epoch, by fleet. */
  readonly changedMs: ReadonlyMap<string, number>;
  /** The published revisions, and the resources that do not fit; undefined until the source was read. */
  readonly admission: Admission | undefined;
  /** The current revision of a served resource; undefined: there is none. */
  currentRevision(name: string): Revision | undefined;
  /** Why the source cannot be read at present; what was read before stays active. */
  readonly sourceError: string | undefined;
}

/** The dependencies of the publisher. `clock` gives milliseconds since the epoch. */
export interface PublisherDeps {
  readonly log: Log;
  readonly clock: () => number;
  readonly source: Source;
  /** Returns whether connected pods have loaded a revision, which is then kept; undefined: no pod has. */
  readonly loadedRevisions?: () => IsLoaded;
  /** Records a span for each read of the source; undefined records none. */
  readonly tracer?: Tracing["tracer"];
}

/** Publishes snapshots. */
export class Publisher implements Part {
  readonly name = "publisher";
  readonly #deps: PublisherDeps;
  readonly #options: PublisherOptions;
  readonly #debounce: Debounce;
  readonly #onPublished = new Listeners();
  readonly #onChanged = new Listeners();
  readonly #publishedMs = new Map<string, number>();
  readonly #changedMs = new Map<string, number>();
  readonly #source: Source;
  #read: SourceState | undefined;
  #desired: DesiredConfiguration | undefined;
  readonly #revisions = new Revisions();
  readonly #history = new RevisionHistory();
  /** The served resources by name. */
  readonly #present = new Map<string, Applicant>();
  #admission: Admission | undefined;
  #wanted: SnapshotSet | undefined;
  #publication: Publication = UNPUBLISHED;
  #sourceError: string | undefined;
  #releaseTimer: NodeJS.Timeout | undefined;
  /** When waits of empty sets were last checked, milliseconds since the epoch. */
  #waitsCheckedMs = 0;
  #isStarted = false;
  /** When the first change was noticed that no read has taken in. */
  #noticedMs: number | undefined;

  constructor(deps: PublisherDeps, options: PublisherOptions) {
    this.#deps = deps;
    this.#source = deps.source;
    this.#options = options;
    this.#debounce = new Debounce(() => this.#refresh(), deps.clock, {
      quietMs: options.debounceQuietMs,
      maxMs: options.debounceMaxMs,
    });
    this.#source.onChanged(() => this.changed());
  }

  /** Reads the source for the first time; fails when it cannot be read. */
  async start(): Promise<void> {
    await this.#take(await this.#source.read());
    this.#isStarted = true;
    if (this.#noticedMs !== undefined) this.#debounce.changed();
  }

  async stop(): Promise<void> {
    this.#debounce.stop();
    await this.#debounce.settled();
    clearTimeout(this.#releaseTimer);
  }

  /** Reads the source again soon. */
  changed(): void {
    this.#noticedMs ??= this.#deps.clock();
    // The source allows one read at a time, and the first one is start's.
    if (this.#isStarted) this.#debounce.changed();
  }

  /** The state that it has derived from the source. */
  state(): PublisherState {
    return {
      read: this.#read,
      desired: this.#desired,
      publication: this.#publication,
      publishedMs: this.#publishedMs,
      changedMs: this.#changedMs,
      admission: this.#admission,
      currentRevision: (name) => this.#present.get(name)?.revision,
      sourceError: this.#sourceError,
    };
  }

  /** The active snapshot of a fleet; undefined: none yet. */
  snapshotFor(fleet: string): Snapshot | undefined {
    return publicationFor(this.#publication, fleet)?.snapshot;
  }

  /** The kept revisions of a published resource: that one first, then the newest. */
  revisionsOf(name: string): readonly Revision[] {
    return this.#history.revisionsOf(name);
  }

  /** Calls the listener when what pods are sent may have changed; returns the function that ends this. */
  onPublished(listener: () => void): () => void {
    return this.#onPublished.add(listener);
  }

  /** Calls the listener after every change of the state; returns the function that ends this. */
  onChanged(listener: () => void): () => void {
    return this.#onChanged.add(listener);
  }

  /** Never rejects: a source that cannot be read leaves everything as it is. */
  async #refresh(): Promise<void> {
    const span = this.#deps.tracer?.startSpan("publish");
    const noticedMs = this.#noticedMs;
    this.#noticedMs = undefined;
    try {
      await this.#take(await this.#source.read(), noticedMs);
    } catch (error) {
      this.#noticedMs = noticedMs ?? this.#noticedMs;
      const message = describeError(error);
      if (message === this.#sourceError) return;
      this.#deps.log.error("Cannot read the source, what was read before stays active", { error });
      this.#sourceError = message;
      this.#onChanged.notify();
    } finally {
      span?.setAttributes({
        "weir.resources": this.#desired?.accepted.length ?? 0,
        "weir.refusals": this.#desired?.refusals.length ?? 0,
      });
      span?.end();
    }
  }

  async #take(state: SourceState, noticedMs?: number): Promise<void> {
    if (state === this.#read) {
      this.#noteReadable();
      return;
    }
    const before = this.#read && this.#desired && { state: this.#read, desired: this.#desired };
    const desired = await timeSliced(translationSteps(state, before));
    const applicants = await timeSliced(this.#applicants(desired));
    const admission = admit(applicants, desired.fleets, this.#options);
    const published = [...admission.admitted.values()];
    // A resource that does not fit may still be served in fleets that it does not name any more.
    const fleets = [...new Set([...desired.fleets, ...published.flatMap(({ fleets: own }) => own ?? [])])];
    const wanted = await timeSliced(snapshotSteps(published, fleets.toSorted(compareCodeUnits), this.#wanted));
    // Only now: a state that cannot be translated is not taken, and fails again at the next read.
    this.#noteReadable();
    const { log } = this.#deps;
    logRefusals(log, this.#desired, desired);
    logAdmission(log, this.#admission, admission);
    this.#keepPresent(applicants);
    [this.#read, this.#desired, this.#admission, this.#wanted] = [state, desired, admission, wanted];
    this.#publish(noticedMs);
  }

  *#applicants({ accepted }: DesiredConfiguration): Generator<undefined, readonly Applicant[]> {
    const applicants: Applicant[] = [];
    for (const resource of accepted) {
      const known = this.#present.get(resource.key);
      const served = this.#servedRevision(resource);
      // As a rule: thousands of equal ones are garbage after each edit.
      if (known?.resource === resource && isSamePublished(known.served, served)) applicants.push(known);
      else {
        applicants.push({ resource, revision: this.#revisions.current(resource), served });
        yield; // To serialise a revision takes a while.
      }
    }
    return applicants;
  }

  #keepPresent(applicants: readonly Applicant[]): void {
    for (const applicant of applicants) {
      const { name } = applicant.revision;
      if (this.#present.get(name) !== applicant) this.#present.set(name, applicant);
    }
    if (this.#present.size === applicants.length) return;
    const names = new Set(applicants.map(({ revision }) => revision.name));
    for (const name of this.#present.keys()) if (!names.has(name)) this.#present.delete(name);
  }

  /**
   * Revisions that all replicas read are what is served. Without them that is what this process has
   * published, or at its start what the source handed over.
   */
  #servedRevision(resource: AcceptedResource): PublishedRevision | undefined {
    const before = this.#source.hasRevisions?.() === true ? undefined : this.#admission?.admitted.get(resource.key);
    if (before?.revision.identity === resource.identity) return before;
    const revision =
      this.#revisions.lastGood(resource)[0] ?? (resource.isLastGood ? this.#revisions.current(resource) : undefined);
    return revision && { revision, fleets: revision.manifest.spec.fleets };
  }

  #noteReadable(): void {
    if (this.#sourceError === undefined) return;
    this.#deps.log.info("The source can be read again");
    this.#sourceError = undefined;
    this.#onChanged.notify();
  }

  /** `noticedMs` is when the change behind this was noticed; undefined: now. */
  #publish(noticedMs?: number): void {
    if (this.#wanted === undefined) return;
    const { log, clock } = this.#deps;
    const nowMs = clock();
    this.#checkWaits(nowMs);
    const before = this.#publication;
    this.#publication = publish(before, this.#wanted, nowMs, this.#options.allowEmptyAfterMs);
    this.#keepRevisions();
    const changed = logPublication(log, before, this.#publication);
    for (const fleet of changed) {
      this.#publishedMs.set(fleet, nowMs);
      this.#changedMs.set(fleet, noticedMs ?? nowMs);
    }
    const gone = [...before.keys()].filter((fleet) => !this.#publication.has(fleet));
    for (const fleet of gone) {
      this.#publishedMs.delete(fleet);
      this.#changedMs.delete(fleet);
    }
    this.#scheduleRelease(nowMs);
    // Also without another snapshot: pods that NACKed one may be sent other earlier revisions.
    this.#onPublished.notify();
    this.#onChanged.notify();
  }

  /** Keeps the revisions of what is published, and of what is sent while an empty set is held back. */
  #keepRevisions(): void {
    const { loadedRevisions = () => () => false } = this.#deps;
    const published = this.#wanted?.published.map(({ revision }) => revision) ?? [];
    const held = [...this.#publication.values()].flatMap(({ hold, snapshot }) =>
      hold === undefined ? [] : (snapshot?.revisions ?? []),
    );
    const lastGoodOf = (name: string): readonly Revision[] => {
      const resource = this.#present.get(name)?.resource;
      return resource === undefined ? [] : this.#revisions.lastGood(resource);
    };
    this.#history.update(published, { lastGoodOf, isLoaded: loadedRevisions() }, held);
  }

  /** Publishes again when an empty set has waited long enough. */
  #scheduleRelease(nowMs: number): void {
    clearTimeout(this.#releaseTimer);
    const dueMs = nextReleaseMs(this.#publication);
    if (dueMs === undefined) return;
    const check = (): void => {
      const laterMs = this.#deps.clock();
      this.#checkWaits(laterMs);
      if (laterMs >= (nextReleaseMs(this.#publication) ?? 0)) this.#publish();
      else this.#scheduleRelease(laterMs);
    };
    this.#releaseTimer = setTimeout(check, Math.min(timerDelayMs(dueMs, nowMs), RELEASE_CHECK_MS));
  }

  /** Lets waits of empty sets stand still while the source cannot be read. */
  #checkWaits(nowMs: number): void {
    if (this.#source.condition().problem !== undefined)
      this.#publication = prolongWaits(this.#publication, nowMs - this.#waitsCheckedMs);
    this.#waitsCheckedMs = nowMs;
  }
}
