// Metrics of controllers and their queues, under the names, labels and buckets that the dashboards of
// controller-runtime read.
import type { FailureKind } from "@weir/kubernetes/client/api-failure";
import { NO_FAILURES } from "@weir/kubernetes/reflector/reflector-run";
import { Counter, exponentialBuckets, Gauge, Histogram, type Registry } from "prom-client";

import type { WorkQueue, WorkQueueObserver } from "./work-queue.ts";

/** Buckets of controller-runtime for its queues, in seconds: 10 ns to 1000 s. */
const QUEUE_BUCKETS = exponentialBuckets(10e-9, 10, 12);

/** Buckets of controller-runtime for reconciles, in seconds. */
const RECONCILE_BUCKETS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ...[1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

/** How a reconcile can end; `requeue_after` is a success that wants to look again. */
const RESULTS = ["success", "error", "requeue_after"] as const;

/** How a reconcile ended. */
export type ReconcileOutcome = (typeof RESULTS)[number];

/** Why a reconcile failed: how the request to the API server did, or `other`. */
export type ReconcileFailure = FailureKind | "other";

export interface ControllerMetrics extends WorkQueueObserver {
  /** A reconcile has ended. */
  reconciled(outcome: ReconcileOutcome, tookMs: number): void;
  failed(kind: ReconcileFailure): void;
  /** Registers the queue that the gauges read at each scrape. */
  read(queue: Pick<WorkQueue, "depth" | "running" | "workedMs">): void;
}

/** The state of one controller that its gauges read. */
interface Observed {
  readonly name: string;
  readonly concurrency: number;
  readonly monotonicMs: () => number;
  readonly queue: Pick<WorkQueue, "depth" | "running" | "workedMs">;
}

/** The metrics of all controllers of a process; made once for its registry. */
export class ControllerMetricsSet {
  readonly #observed: Observed[] = [];
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #queueSeconds: Histogram;
  readonly #workSeconds: Histogram;
  readonly #results: Counter;
  readonly #errors: Counter;
  readonly #failures: Counter;
  readonly #reconcileSeconds: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    // Both labels have the same value, as in controller-runtime.
    const queue = ["name", "controller"];
    const controller = ["controller"];
    this.#adds = new Counter({
      name: "workqueue_adds_total",
      help: "Objects that were put into the queue.",
      labelNames: queue,
      registers,
    });
    this.#retries = new Counter({
      name: "workqueue_retries_total",
      help: "Objects that were put off after a failure.",
      labelNames: queue,
      registers,
    });
    this.#queueSeconds = new Histogram({
      name: "workqueue_queue_duration_seconds",
      help: "How long objects were in the queue before their reconcile.",
      labelNames: queue,
      buckets: QUEUE_BUCKETS,
      registers,
    });
    this.#workSeconds = new Histogram({
      name: "workqueue_work_duration_seconds",
      help: "How long an object from the queue was worked on.",
      labelNames: queue,
      buckets: QUEUE_BUCKETS,
      registers,
    });
    this.#results = new Counter({
      name: "controller_runtime_reconcile_total",
      help: "Reconciles by result.",
      labelNames: ["controller", "result"],
      registers,
    });
    this.#errors = new Counter({
      name: "controller_runtime_reconcile_errors_total",
      help: "Reconciles that failed.",
      labelNames: controller,
      registers,
    });
    this.#failures = new Counter({
      name: "weir_reconcile_failures_total",
      help: "Reconciles that failed, by how the request to the API server did.",
      labelNames: ["controller", "kind"],
      registers,
    });
    this.#reconcileSeconds = new Histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "How long reconciles took.",
      labelNames: controller,
      buckets: RECONCILE_BUCKETS,
      registers,
    });
    this.#addGauges(registers);
  }

  /** The metrics of the controller `name`; its series exist from now on. */
  of(
    name: string,
    { concurrency, monotonicMs }: { readonly concurrency: number; readonly monotonicMs: () => number },
  ): ControllerMetrics {
    const queue = { name, controller: name };
    const controller = { controller: name };
    for (const counter of [this.#adds, this.#retries]) counter.inc(queue, 0);
    for (const histogram of [this.#queueSeconds, this.#workSeconds]) histogram.zero(queue);
    for (const result of RESULTS) this.#results.inc({ controller: name, result }, 0);
    this.#errors.inc(controller, 0);
    for (const kind of [...Object.keys(NO_FAILURES), "other"]) this.#failures.inc({ controller: name, kind }, 0);
    this.#reconcileSeconds.zero(controller);
    return {
      added: () => this.#adds.inc(queue),
      retried: () => this.#retries.inc(queue),
      began: (waitedMs) => this.#queueSeconds.observe(queue, waitedMs / 1000),
      ended: (workedMs) => this.#workSeconds.observe(queue, workedMs / 1000),
      reconciled: (result, tookMs) => {
        this.#results.inc({ controller: name, result });
        if (result === "error") this.#errors.inc(controller);
        this.#reconcileSeconds.observe(controller, tookMs / 1000);
      },
      failed: (kind) => this.#failures.inc({ controller: name, kind }),
      read: (source) => this.#observed.push({ name, concurrency, monotonicMs, queue: source }),
    };
  }

  #addGauges(registers: Registry[]): void {
    const add = (name: string, help: string, labels: readonly string[], valueOf: (observed: Observed) => number) => {
      const observed = this.#observed;
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        collect() {
          for (const each of observed)
            this.set(Object.fromEntries(labels.map((label) => [label, each.name])), valueOf(each));
        },
      });
    };
    const secondsOf = ({ queue, monotonicMs }: Observed): readonly number[] =>
      queue.workedMs(monotonicMs()).map((ms) => ms / 1000);
    const queue = ["name", "controller"];
    add("workqueue_depth", "Objects in the queue.", queue, (each) => each.queue.depth);
    add(
      "workqueue_unfinished_work_seconds",
      "How long the objects that are worked on now have been, together.",
      queue,
      (each) => secondsOf(each).reduce((sum, seconds) => sum + seconds, 0),
    );
    add(
      "workqueue_longest_running_processor_seconds",
      "How long the object has been worked on that has been for the longest time.",
      queue,
      (each) => Math.max(0, ...secondsOf(each)),
    );
    add(
      "controller_runtime_max_concurrent_reconciles",
      "Most reconciles at a time.",
      ["controller"],
      (each) => each.concurrency,
    );
    add("controller_runtime_active_workers", "Reconciles that run now.", ["controller"], (each) => each.queue.running);
  }
}
