// A counter whose work shows as spans below that of the decision. It stands in front of a backend only when tracing is on; the backend knows nothing of it.
import type { RunningTracing } from "@weir/common/tracing/tracing-sdk";

import type { CountBatch, CountedCheck, Counter } from "./counter.ts";
import type { StoreError } from "./store-error.ts";

/** The reference's names of spans and of their attributes. */
const REDIS_SPAN = "Redis Pipeline Execution";
const REDIS_MAIN_ATTRIBUTE = "pipeline length";
const REDIS_PER_SECOND_ATTRIBUTE = "perSecondPipeline length";
const MEMCACHED_SPAN = "Memcached Fetch Execution";
const MEMCACHED_ATTRIBUTE = "keysToGet length";

/** Windows that a second instance keeps, in seconds. */
const PER_SECOND_WINDOW = 1;

/** What stands behind: its kind decides what the spans are called and tell. */
export type TracedBackend = { readonly kind: "kvstore"; readonly hasPerSecond: boolean } | { readonly kind: "altstore" };

type Span = ReturnType<RunningTracing["tracer"]["startSpan"]>;
type Place = ReturnType<RunningTracing["active"]>;

/** The counter with a span for every batch: from handing it over to the answer. Lengths are numbers of counters, whatever commands they take. */
export function traceCounter(counter: Counter, tracing: RunningTracing, backend: TracedBackend): Counter {
  return counter.read === undefined ? new TracedCounter(counter, tracing, backend) : new TracedReader(counter, tracing, backend);
}

class TracedCounter implements Counter {
  readonly name: string;
  readonly errorType: Counter["errorType"];
  protected readonly counter: Counter;
  readonly #tracing: RunningTracing;
  readonly #backend: TracedBackend;

  constructor(counter: Counter, tracing: RunningTracing, backend: TracedBackend) {
    this.name = counter.name;
    this.errorType = counter.errorType;
    this.counter = counter;
    this.#tracing = tracing;
    this.#backend = backend;
  }

  start(): void | Promise<void> {
    return this.counter.start?.();
  }

  stop(): void | Promise<void> {
    return this.counter.stop?.();
  }

  count(batch: CountBatch): void {
    this.counter.count(this.trace(batch));
  }

  protected trace(batch: CountBatch): TracedBatch {
    const place = this.#tracing.active();
    const { name, attributes } = describeBatch(batch.checks, this.#backend);
    return new TracedBatch(batch, this.#tracing, { place, span: this.#tracing.tracer.startSpan(name, { attributes }, place) });
  }
}

class TracedReader extends TracedCounter {
  read(batch: CountBatch): void {
    this.counter.read?.(this.trace(batch));
  }
}

class TracedBatch implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  readonly #batch: CountBatch;
  readonly #tracing: RunningTracing;
  readonly #span: Span;
  /** Where the decision is in its trace; the answer comes from elsewhere, and may have to count on. */
  readonly #place: Place;

  constructor(batch: CountBatch, tracing: RunningTracing, { place, span }: { readonly place: Place; readonly span: Span }) {
    this.checks = batch.checks;
    this.deadlineMs = batch.deadlineMs;
    this.#batch = batch;
    this.#tracing = tracing;
    this.#place = place;
    this.#span = span;
  }

  counted(): void {
    this.#span.end();
    this.#tracing.run(this.#place, () => this.#batch.counted());
  }

  failed(error: StoreError): void {
    this.#span.setAttribute("error.type", error.code);
    this.#span.recordException(error);
    this.#span.end();
    this.#tracing.run(this.#place, () => this.#batch.failed(error));
  }
}

function describeBatch(
  checks: readonly CountedCheck[],
  backend: TracedBackend,
): { readonly name: string; readonly attributes: Readonly<Record<string, number>> } {
  if (backend.kind === "altstore") return { name: MEMCACHED_SPAN, attributes: { [MEMCACHED_ATTRIBUTE]: checks.length } };
  const perSecond = backend.hasPerSecond ? checks.filter(({ windowSeconds }) => windowSeconds === PER_SECOND_WINDOW).length : 0;
  return { name: REDIS_SPAN, attributes: { [REDIS_MAIN_ATTRIBUTE]: checks.length - perSecond, [REDIS_PER_SECOND_ATTRIBUTE]: perSecond } };
}
