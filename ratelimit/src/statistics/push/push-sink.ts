// Push statistics: sends at an interval what has changed, and durations about as they come. What a
// line looks like is the format's matter, where it goes the channel's. Nothing here waits for a
// server: as long as there is none, counters keep what they have for the first flush that can go.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

import type { StatisticsSink } from "../statistics-sink.ts";
import type { StatisticsStore } from "../statistics-store.ts";
import { createDifferences, type Differences } from "./differences.ts";
import type { LineChannel } from "./line-channel.ts";
import type { LineFormat } from "./line-format.ts";
import { openTimings, type Timings } from "./timings.ts";

/** Durations and begun packets wait at most this long, in milliseconds, as in the reference. */
const BATCH_MAX_MS = 1000;

/**
 * How long a flush waits at a time for a channel that has no room, in milliseconds, and how often
 * at most.
 */
const ROOM_WAIT_MS = 10;
const ROOM_WAITS_MAX = 100;

/** What a sink is made of. */
export interface PushSinkDeps {
  readonly store: StatisticsStore;
  readonly format: LineFormat;
  readonly channel: LineChannel;
}

/** Settings of a sink. */
export interface PushSinkOptions {
  /** What messages call it. */
  readonly name: string;
  /** STATS_FLUSH_INTERVAL, in milliseconds; default 10 s. */
  readonly flushIntervalMs: number;
}

/** Creates the sink. */
export function createPushSink(deps: PushSinkDeps, options: PushSinkOptions): StatisticsSink {
  return new PushSink(deps, options);
}

class PushSink implements StatisticsSink {
  readonly name: string;
  readonly #deps: PushSinkDeps;
  readonly #flushIntervalMs: number;
  readonly #differences: Differences;
  #timings: Timings | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  /** The flush that is being written, if any. */
  #running: Promise<void> | undefined;

  constructor(deps: PushSinkDeps, { name, flushIntervalMs }: PushSinkOptions) {
    this.name = name;
    this.#deps = deps;
    this.#flushIntervalMs = flushIntervalMs;
    this.#differences = createDifferences(deps.store);
  }

  address(): string | undefined {
    return this.#deps.channel.address;
  }

  start(): void {
    this.#deps.channel.open();
    this.#timings = openTimings(this.#deps.store);
    this.#timers.push(
      setInterval(() => this.#sendTimings(), Math.min(BATCH_MAX_MS, this.#flushIntervalMs)),
      setInterval(() => this.#flushSoon(), this.#flushIntervalMs),
    );
  }

  /** Sends what is left, if there is a way, and closes. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#running;
    this.#sendTimings();
    await this.#flush();
    this.#timings?.close();
    await this.#deps.channel.close();
  }

  #sendTimings(): void {
    const { channel, format } = this.#deps;
    if (!channel.isReady()) return;
    this.#timings?.drain((name, durationMs, times) => channel.write(format.timer(name, durationMs), times));
    channel.flush();
  }

  /**
   * A flush that is still being written is not overtaken: the next one tells what came together.
   */
  #flushSoon(): void {
    this.#running ??= this.#flush().finally(() => (this.#running = undefined));
  }

  async #flush(): Promise<void> {
    const { channel, format } = this.#deps;
    if (!channel.isReady()) return;
    const steps = this.#differences.collect({
      counter: (name, difference) => channel.write(format.counter(name, difference), 1),
      gauge: (name, value) => channel.write(format.gauge(name, value), 1),
    });
    // Between two steps decisions have their turn, and the channel sends. What was not told yet
    // when there is no way on waits for the next flush.
    while (steps.next().done !== true) {
      await nextTurn();
      if (!(await this.#hasRoom())) return;
    }
    const last = format.flushed();
    if (last !== "") channel.write(last, 1);
    channel.flush();
  }

  /** Whether more can be written, after a while of waiting if need be. */
  async #hasRoom(): Promise<boolean> {
    const { channel } = this.#deps;
    for (let waits = 0; !channel.hasRoom() && waits < ROOM_WAITS_MAX && channel.isReady(); waits++)
      await pause(ROOM_WAIT_MS);
    return channel.isReady() && channel.hasRoom();
  }
}
