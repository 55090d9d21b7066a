// Statistics of the process: memory, processor, event loop and garbage collection, for every sink.
// They are measured when the store is read.
import { monitorEventLoopDelay, performance, PerformanceObserver } from "node:perf_hooks";

import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { GaugeTotal } from "./statistic.ts";
import type { StatisticsStore } from "./statistics-store.ts";

const SCOPE = "ratelimit.node";

/** Interval of the samples of the event loop's delay, in milliseconds. */
const SAMPLING_MS = 20;

/**
 * Shortest period of the event loop's statistics, in milliseconds: readers within one see the same
 * numbers.
 */
const PERIOD_MIN_MS = 1000;

const NANOSECONDS = 1e9;

/** The statistics, measured from start to stop. */
export class NodeStatistics implements Part {
  readonly name = "process statistics";
  readonly #store: StatisticsStore;
  readonly #nowMs: () => number;
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLING_MS });
  readonly #gauges;
  readonly #counters;
  readonly #collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.#addCollection(duration);
  });
  #utilization = performance.eventLoopUtilization();
  /** Counted processor time, and pauses of less than a millisecond that are not counted yet. */
  #countedCpuMs = 0;
  #pausedMs = 0;
  #periodStartMs: number;
  #stopReading: (() => void) | undefined;

  /** Creates the statistics in the store, all at zero. `nowMs` is a monotonic clock. */
  constructor({ store, nowMs }: { readonly store: StatisticsStore; readonly nowMs: () => number }) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.#periodStartMs = nowMs();
    const gauge = (name: string, total?: GaugeTotal) => store.gauge(`${SCOPE}.${name}`, total);
    const counter = (name: string) => store.counter(`${SCOPE}.${name}`);
    this.#gauges = {
      resident: gauge("memory_resident_bytes"),
      heapUsed: gauge("memory_heap_used_bytes"),
      heapTotal: gauge("memory_heap_total_bytes"),
      external: gauge("memory_external_bytes"),
      arrayBuffers: gauge("memory_array_buffers_bytes"),
      lagMean: gauge("event_loop_lag_mean_seconds", "max"),
      lagHigh: gauge("event_loop_lag_p99_seconds", "max"),
      lagMax: gauge("event_loop_lag_max_seconds", "max"),
      utilization: gauge("event_loop_utilization_ratio", "max"),
    };
    this.#counters = {
      cpuMs: counter("cpu_milliseconds"),
      collections: counter("gc_runs"),
      pauseMs: counter("gc_pause_milliseconds"),
    };
  }

  start(): void {
    this.#delay.enable();
    this.#collections.observe({ entryTypes: ["gc"] });
    this.#stopReading = this.#store.onRead(() => this.#measure());
  }

  stop(): void {
    this.#stopReading?.();
    this.#collections.disconnect();
    this.#delay.disable();
  }

  #measure(): void {
    const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
    this.#gauges.resident.set(rss);
    this.#gauges.heapUsed.set(heapUsed);
    this.#gauges.heapTotal.set(heapTotal);
    this.#gauges.external.set(external);
    this.#gauges.arrayBuffers.set(arrayBuffers);
    const { user, system } = process.cpuUsage();
    const cpuMs = Math.floor((user + system) / 1000);
    this.#counters.cpuMs.add(cpuMs - this.#countedCpuMs);
    this.#countedCpuMs = cpuMs;
    const nowMs = this.#nowMs();
    if (nowMs - this.#periodStartMs >= PERIOD_MIN_MS) this.#measureEventLoop(nowMs);
  }

  /** Measures the event loop since the last call. */
  #measureEventLoop(nowMs: number): void {
    this.#periodStartMs = nowMs;
    const now = performance.eventLoopUtilization();
    this.#gauges.utilization.set(performance.eventLoopUtilization(now, this.#utilization).utilization);
    this.#utilization = now;
    // Without a sample the mean is NaN.
    this.#gauges.lagMean.set(lagSeconds(this.#delay.count > 0 ? this.#delay.mean : 0));
    this.#gauges.lagHigh.set(lagSeconds(this.#delay.percentile(99)));
    this.#gauges.lagMax.set(lagSeconds(this.#delay.max));
    this.#delay.reset();
  }

  #addCollection(durationMs: number): void {
    this.#counters.collections.add(1);
    this.#pausedMs += durationMs;
    const wholeMs = Math.floor(this.#pausedMs);
    this.#pausedMs -= wholeMs;
    this.#counters.pauseMs.add(wholeMs);
  }
}

/**
 * The delay of a sample, which is the time between two timers in nanoseconds, less their interval.
 */
function lagSeconds(sampleNs: number): number {
  return Math.max(0, sampleNs / NANOSECONDS - SAMPLING_MS / 1000);
}
