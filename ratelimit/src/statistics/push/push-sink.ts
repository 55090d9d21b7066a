// Push statistics: sends changes at an interval and durations about once a second. While no server
// is reachable, counters keep their growth for the first flush that can be sent.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

import type { StatisticsSink } from "../statistics-sink.ts";
import type { StatisticsStore } from "../statistics-store.ts";
import { Differences } from "./differences.ts";
import type { LineChannel } from "./line-channel.ts";
import type { LineFormat } from "./line-format.ts";
import { Timings } from "./timings.ts";

/**
 * Longest wait of durations and unfinished packets, in milliseconds, as in envoyproxy/ratelimit.
 */
const BATCH_MAX_MS = 1000;

/** One wait of a flush for a full channel, in milliseconds, and the most waits. */
const ROOM_WAIT_MS = 10;
const ROOM_WAITS_MAX = 100;

export interface PushSinkDeps {
  readonly store: StatisticsStore;
  readonly format: LineFormat;
  readonly channel: LineChannel;
}

/** Settings of a sink. */
export interface PushSinkOptions {
  /** Its name in log messages. */
  readonly name: string;
  /** STATS_FLUSH_INTERVAL, in milliseconds; default 10 s. */
  readonly flushIntervalMs: number;
}

/** The sink. */
export class PushSink implements StatisticsSink {
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
    this.#differences = new Differences(deps.store);
  }

  address(): string | undefined {
    return this.#deps.channel.address;
  }

  start(): void {
    this.#deps.channel.open();
    this.#timings = new Timings(this.#deps.store);
    this.#timers.push(
      setInterval(() => this.#sendTimings(), Math.min(BATCH_MAX_MS, this.#flushIntervalMs)),
      setInterval(() => this.#flushSoon(), this.#flushIntervalMs),
    );
  }

  /** Sends the rest, if the server is reachable, and closes. */
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

  /** Skips a flush while the one before is still being written; the next one sends both. */
  #flushSoon(): void {
    this.#running ??= this.#flush().finally(() => (this.#running = undefined));
  }

  async #flush(): Promise<void> {
    const { channel, format } = this.#deps;
    if (!channel.isReady()) return;
    await this.#deps.store.collect();
    const steps = this.#differences.collect({
      counter: (name, difference) => channel.write(format.counter(name, difference), 1),
      gauge: (name, value) => channel.write(format.gauge(name, value), 1),
    });
    // Decisions run and the channel sends between two steps. When the channel stays full, the rest
    // waits for the next flush.
    while (steps.next().done !== true) {
      await nextTurn();
      if (!(await this.#hasRoom())) return;
    }
    const last = format.flushed();
    if (last !== "") channel.write(last, 1);
    channel.flush();
  }

  /** Waits a while for a full channel; returns whether more can be written. */
  async #hasRoom(): Promise<boolean> {
    const { channel } = this.#deps;
    for (let waits = 0; !channel.hasRoom() && waits < ROOM_WAITS_MAX && channel.isReady(); waits++)
      await pause(ROOM_WAIT_MS);
    return channel.isReady() && channel.hasRoom();
  }
}
