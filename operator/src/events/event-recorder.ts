// Records events of resources in the API server. A repeat within a while joins the series of the first
// one, and its caller never waits: one task writes in the background.
import { createHash } from "node:crypto";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { cutText } from "@weir/common/text/cut-text";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { ObjectWriter, WrittenObject } from "@weir/kubernetes/client/object-client";

import { MANAGER } from "../leader/managed-by.ts";

export const EVENTS: ApiKind = { group: "events.k8s.io", version: "v1", plural: "events" };

/** How long after the last event a repeat joins its series, in milliseconds: that of client-go. */
const SERIES_MS = 6 * 60_000;

/** Most series that are remembered or wait to be written; beyond it the oldest is dropped. */
const SERIES_MAX = 10_000;

/** Longest note that the API server takes, in bytes. */
const NOTE_MAX_BYTES = 1024;

/** Longest prefix of an event's name that is the name of its object, in characters. */
const NAME_LENGTH_MAX = 253 - 1 - 16;

/** Attempts to write one event, and the wait between them in milliseconds. */
const ATTEMPTS_MAX = 3;
const ATTEMPT_WAIT_MS = 1000;

/** Shortest time between two log lines about the same failure, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** The object that an event is about. */
export interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The content of an event of an object. */
export interface EventText {
  readonly type: "Normal" | "Warning";
  /** Why, in one word for programs, such as `InvalidSpec`. */
  readonly reason: string;
  /** The action of the operator when it noticed, in one word, such as `Validate`. */
  readonly action: string;
  /** For people; cut after 1,024 bytes. */
  readonly note: string;
}

export interface EventRecorderDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Gives up a write that takes too long. */
  readonly objects: Pick<ObjectWriter, "apply">;
  /** Name of this process, such as its pod's: `reportingInstance` of its events. */
  readonly instance: string;
}

/** Events of one object for one reason. */
interface Series {
  readonly key: string;
  readonly name: string;
  readonly regarding: EventObject;
  readonly text: EventText;
  readonly firstMs: number;
  lastMs: number;
  /** The same time by the clock that only goes forward. */
  seenMs: number;
  count: number;
}

/** Records events; a part that is stopped before the client of the API server. */
export class EventRecorder implements Part {
  readonly name = "event recorder";
  readonly #deps: EventRecorderDeps;
  readonly #log: RateLimitedLog;
  /** The last series by object, reason and action; the one that was used last is the last. */
  readonly #series = new Map<string, Series>();
  /** Series that differ from what was written. */
  readonly #unwritten = new Set<Series>();
  #stopping = new AbortController();
  #writing: Promise<void> | undefined;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#log = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS, monotonicMs: deps.monotonicMs });
  }

  /** Needed only after a stop. */
  start(): void {
    if (this.#stopping.signal.aborted) this.#stopping = new AbortController();
  }

  /** Writes nothing more, and resolves when the write that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unwritten.clear();
    await this.#writing;
  }

  /** Records an event. Returns immediately; an event that cannot be written is logged and dropped. */
  record(regarding: EventObject, text: EventText): void {
    if (this.#stopping.signal.aborted) return;
    const nowMs = this.#deps.clock();
    const seenMs = this.#deps.monotonicMs();
    const key = JSON.stringify([
      regarding.uid,
      regarding.namespace,
      regarding.name,
      text.type,
      text.reason,
      text.action,
    ]);
    const known = this.#series.get(key);
    this.#series.delete(key);
    const isRepeat = known !== undefined && seenMs - known.seenMs < SERIES_MS;
    const series = isRepeat ? known : seriesOf(key, regarding, text, nowMs);
    series.count += 1;
    series.lastMs = nowMs;
    series.seenMs = seenMs;
    this.#series.set(key, series);
    this.#unwritten.add(series);
    dropOldest(this.#series);
    if (dropOldest(this.#unwritten))
      this.#log.warn("Dropped an event, too many wait to be written", { max: SERIES_MAX });
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    for (const series of this.#unwritten) {
      this.#unwritten.delete(series);
      await this.#write(series);
      if (this.#stopping.signal.aborted) break;
    }
    // In the same turn as the last look at what is unwritten: the next event begins anew.
    this.#writing = undefined;
  }

  async #write(series: Series): Promise<void> {
    const event = eventOf(series, this.#deps.instance);
    for (let attempt = 1; ; attempt += 1) {
      const options = { fieldManager: MANAGER, isForced: true };
      try {
        await this.#deps.objects.apply(EVENTS, event, options, this.#stopping.signal);
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (attempt < ATTEMPTS_MAX && isTransient(error)) {
          await pause(ATTEMPT_WAIT_MS, this.#stopping.signal);
          continue;
        }
        const { namespace, name } = series.regarding;
        const reason = error instanceof ApiFailure ? error.reason : error;
        this.#log.warn("Cannot record an event", { namespace, name, event: series.text.reason, reason });
        return;
      }
    }
  }
}

function seriesOf(key: string, regarding: EventObject, text: EventText, nowMs: number): Series {
  const hash = createHash("sha256").update(`${key} ${nowMs}`).digest("hex").slice(0, 16);
  const name = `${regarding.name.slice(0, NAME_LENGTH_MAX)}.${hash}`;
  return { key, name, regarding, text, firstMs: nowMs, lastMs: nowMs, seenMs: 0, count: 0 };
}

/** The event as it is written; the API server lets only its series change. */
function eventOf({ name, regarding, text, firstMs, lastMs, count }: Series, instance: string): WrittenObject {
  const { type, reason, action, note } = text;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    // Events of cluster-scoped objects are in the namespace `default`, as those of nodes are.
    metadata: { name, namespace: regarding.namespace === "" ? "default" : regarding.namespace },
    eventTime: microTime(firstMs),
    reportingController: "ratelimit.weir.dev/operator",
    reportingInstance: instance,
    regarding: { ...regarding },
    type,
    reason,
    action,
    note: cutText(note, NOTE_MAX_BYTES),
    ...(count > 1 && { series: { count, lastObservedTime: microTime(lastMs) } }),
  };
}

/** A time as metav1.MicroTime is written. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

function isTransient(error: unknown): boolean {
  return !(error instanceof ApiFailure) || error.kind === "unreachable" || error.kind === "unavailable";
}

/** Removes the oldest entry when there are too many; returns whether there were. */
function dropOldest(entries: Map<string, Series> | Set<Series>): boolean {
  if (entries.size <= SERIES_MAX) return false;
  const [oldest] = entries.keys();
  return (entries as Set<unknown>).delete(oldest);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
