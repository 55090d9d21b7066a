// The loop from source to snapshot: a change is noted, the source is read, the whole is translated
// and published. It knows no streams: they ask for what is in force and are told when that changes.
import { describeError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";

import { translateResources } from "../assemble/translate-resources.ts";
import type { DesiredConfiguration } from "../assemble/desired-configuration.ts";
import type { Source, SourceListener, SourceState } from "../source/source.ts";
import { createDebounce, type Debounce } from "./debounce.ts";
import { logPublication, logQuarantine, logRefusals } from "./publication-log.ts";
import { nextReleaseMs, publicationFor, publish, UNPUBLISHED } from "./publication.ts";
import type { Publication, PublicationOptions } from "./publication.ts";
import { NO_REJECTIONS, type Quarantine, type Rejections } from "./rejections.ts";
import { inSlices } from "./slices.ts";
import { snapshotSteps } from "./snapshot.ts";
import type { Snapshot, SnapshotSet } from "./snapshot.ts";

/** How long changes are collected, and the bounds of what is published. */
export interface PublisherOptions extends PublicationOptions {
  readonly debounceQuietMs: number;
  readonly debounceMaxMs: number;
}

/** What the publisher has made of the source, for people. */
export interface PublisherState {
  /** What the source knew when it was read last; undefined until then. */
  readonly read: SourceState | undefined;
  /** undefined until the source was read for the first time. */
  readonly desired: DesiredConfiguration | undefined;
  readonly publication: Publication;
  /** When each fleet was last given another snapshot, milliseconds since the epoch, by fleet. */
  readonly publishedMs: ReadonlyMap<string, number>;
  /** When the first change was noted that led to it, milliseconds since the epoch, by fleet. */
  readonly changedMs: ReadonlyMap<string, number>;
  /**
   * What would be in force if nothing were held back; undefined until the source was read for the
   * first time.
   */
  readonly wanted: SnapshotSet | undefined;
  /** What pods reject of it, and what is served instead. */
  readonly rejections: Rejections;
  /** Why the source cannot be read at present; what was read before stays in force. */
  readonly sourceError: string | undefined;
}

/** Publishes snapshots. */
export interface Publisher extends Part, SourceListener {
  /**
   * Names the source, which needs the publisher as its listener and is therefore made after it;
   * before start.
   */
  use(source: Source): void;
  /** Reads the source for the first time; fails when it cannot be read. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What it has made of the source. */
  state(): PublisherState;
  /** What is in force for a fleet; undefined when nothing is yet. */
  snapshotFor(fleet: string): Snapshot | undefined;
  /**
   * Calls the listener after every change of what is in force; returns the function that ends this.
   */
  onPublished(listener: () => void): () => void;
  /**
   * Calls the listener after every change of the state, whatever is in force; returns the function
   * that ends this.
   */
  onChanged(listener: () => void): () => void;
}

/** What the publisher works with. `clock` gives milliseconds since the epoch. */
export interface PublisherDeps {
  readonly log: Log;
  readonly clock: () => number;
  /** Keeps from pods what they reject; undefined publishes what is wanted, whatever pods say. */
  readonly quarantine?: Quarantine;
  /** Records a span for each look at the source; undefined records none. */
  readonly tracer?: Tracing["tracer"];
}

/** Makes a publisher without a source. */
export function createPublisher(deps: PublisherDeps, options: PublisherOptions): Publisher {
  return new SourcePublisher(deps, options);
}

class SourcePublisher implements Publisher {
  readonly name = "publisher";
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #tracer: Tracing["tracer"];
  readonly #options: PublisherOptions;
  readonly #debounce: Debounce;
  readonly #listeners = new Set<() => void>();
  readonly #observers = new Set<() => void>();
  readonly #publishedMs = new Map<string, number>();
  readonly #changedMs = new Map<string, number>();
  #source: Source | undefined;
  #read: SourceState | undefined;
  #desired: DesiredConfiguration | undefined;
  readonly #quarantine: Quarantine | undefined;
  #wanted: SnapshotSet | undefined;
  #rejections: Rejections = NO_REJECTIONS;
  #publication: Publication = UNPUBLISHED;
  #sourceError: string | undefined;
  #releaseTimer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isChangedEarly = false;
  /** When the first change was noted that no look at the source has taken in. */
  #noticedMs: number | undefined;

  constructor({ log, clock, tracer, quarantine }: PublisherDeps, options: PublisherOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#tracer = tracer;
    this.#options = options;
    this.#quarantine = quarantine;
    // At once, without collecting: nobody is better off for a pod that waits for what it can load.
    quarantine?.onChanged(() => this.#publish());
    this.#debounce = createDebounce(() => this.#refresh(), clock, {
      quietMs: options.debounceQuietMs,
      maxMs: options.debounceMaxMs,
    });
  }

  use(source: Source): void {
    this.#source = source;
  }

  async start(): Promise<void> {
    await this.#take(await this.#readSource());
    this.#isStarted = true;
    if (this.#isChangedEarly) this.#debounce.changed();
  }

  async stop(): Promise<void> {
    this.#debounce.stop();
    await this.#debounce.settled();
    clearTimeout(this.#releaseTimer);
  }

  changed(): void {
    this.#noticedMs ??= this.#clock();
    // The source is read by one at a time, and the first read is start's.
    if (this.#isStarted) this.#debounce.changed();
    else this.#isChangedEarly = true;
  }

  state(): PublisherState {
    return {
      read: this.#read,
      desired: this.#desired,
      publication: this.#publication,
      publishedMs: this.#publishedMs,
      changedMs: this.#changedMs,
      wanted: this.#wanted,
      rejections: this.#rejections,
      sourceError: this.#sourceError,
    };
  }

  snapshotFor(fleet: string): Snapshot | undefined {
    return publicationFor(this.#publication, fleet)?.snapshot;
  }

  onPublished(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  onChanged(listener: () => void): () => void {
    this.#observers.add(listener);
    return () => {
      this.#observers.delete(listener);
    };
  }

  /** Never rejects: a source that cannot be read leaves everything as it is. */
  async #refresh(): Promise<void> {
    const span = this.#tracer?.startSpan("publish");
    const noticedMs = this.#noticedMs;
    this.#noticedMs = undefined;
    try {
      await this.#take(await this.#readSource(), noticedMs);
    } catch (error) {
      this.#noticedMs = noticedMs ?? this.#noticedMs;
      const message = describeError(error);
      if (message === this.#sourceError) return;
      this.#log.error("Cannot read the source, what was read before stays in force", { error });
      this.#sourceError = message;
      this.#tellObservers();
    } finally {
      span?.setAttributes({
        "weir.resources": this.#desired?.accepted.length ?? 0,
        "weir.refusals": this.#desired?.refusals.length ?? 0,
      });
      span?.end();
    }
  }

  async #readSource(): Promise<SourceState> {
    if (this.#source === undefined) throw new TypeError("Cannot read the source: none was named");
    return this.#source.read();
  }

  async #take(state: SourceState, noticedMs?: number): Promise<void> {
    if (state === this.#read) {
      this.#noteReadable();
      return;
    }
    const desired = translateResources(state);
    // What pods say meanwhile is heard of what was wanted before; nobody else changes that.
    const wanted = await inSlices(snapshotSteps(desired, this.#wanted));
    // Only now: a state that cannot be translated is not taken, and fails again at the next look.
    this.#noteReadable();
    this.#read = state;
    logRefusals(this.#log, this.#desired, desired);
    this.#desired = desired;
    this.#wanted = wanted;
    this.#publish(noticedMs);
  }

  #noteReadable(): void {
    if (this.#sourceError === undefined) return;
    this.#log.info("The source can be read again");
    this.#sourceError = undefined;
    this.#tellObservers();
  }

  /** `noticedMs` is when the change was noted that this comes of; undefined: now. */
  #publish(noticedMs?: number): void {
    if (this.#wanted === undefined) return;
    const nowMs = this.#clock();
    const before = this.#publication;
    const allowed = this.#quarantine?.apply(this.#wanted) ?? this.#wanted;
    this.#takeRejections();
    this.#publication = publish(before, allowed, nowMs, this.#options);
    const changed = logPublication(this.#log, before, this.#publication);
    for (const fleet of changed) {
      this.#publishedMs.set(fleet, nowMs);
      this.#changedMs.set(fleet, noticedMs ?? nowMs);
    }
    for (const times of [this.#publishedMs, this.#changedMs]) {
      for (const fleet of [...times.keys()]) if (!this.#publication.has(fleet)) times.delete(fleet);
    }
    this.#scheduleRelease(nowMs);
    const isJoined = [...before.keys()].some((fleet) => !this.#publication.has(fleet));
    if (changed.length > 0 || isJoined) for (const listener of [...this.#listeners]) listener();
    this.#tellObservers();
  }

  #takeRejections(): void {
    const before = this.#rejections;
    this.#rejections = this.#quarantine?.rejections() ?? NO_REJECTIONS;
    logQuarantine(this.#log, before, this.#rejections);
  }

  #tellObservers(): void {
    for (const observer of [...this.#observers]) observer();
  }

  /** An empty set that waits is looked at again when its time has come. */
  #scheduleRelease(nowMs: number): void {
    clearTimeout(this.#releaseTimer);
    const dueMs = nextReleaseMs(this.#publication);
    if (dueMs !== undefined) this.#releaseTimer = setTimeout(() => this.#publish(), Math.max(0, dueMs - nowMs));
  }
}
