// A counter that records spans below that of the decision. It wraps a backend only when tracing is
// enabled.
import type { RunningTracing } from "@weir/common/tracing/tracing-sdk";

import type { CountBatch, CountedCheck, Counter } from "./counter.ts";
import type { StoreError } from "./store-error.ts";

/** Names of spans and of their attributes, as in envoyproxy/ratelimit. */
const REDIS_SPAN = "Redis Pipeline Execution";
const REDIS_MAIN_ATTRIBUTE = "pipeline length";
const REDIS_PER_SECOND_ATTRIBUTE = "perSecondPipeline length";
const MEMCACHED_SPAN = "Memcached Fetch Execution";
const MEMCACHED_ATTRIBUTE = "keysToGet length";

/** Windows that the per-second instance counts, in seconds. */
const PER_SECOND_WINDOW = 1;

/** The wrapped backend: its kind decides the names and attributes of spans. */
export type TracedBackend =
  { readonly kind: "kvstore"; readonly hasPerSecond: boolean } | { readonly kind: "altstore" };

type Span = ReturnType<RunningTracing["tracer"]["startSpan"]>;
type Place = ReturnType<RunningTracing["active"]>;

/**
 * Wraps the counter so that it records one span for every batch of a call that is recorded: from
 * receiving it to the answer, including a read before. Lengths are numbers of counters.
 */
export function traceCounter(counter: Counter, tracing: RunningTracing, backend: TracedBackend): Counter {
  return counter.read === undefined
    ? new TracedCounter(counter, tracing, backend)
    : new TracedReader(counter, tracing, backend);
}

class TracedCounter implements Counter {
  readonly name: string;
  readonly errorType: Counter["errorType"];
  protected readonly counter: Counter;
  protected readonly tracing: RunningTracing;
  readonly #backend: TracedBackend;

  constructor(counter: Counter, tracing: RunningTracing, backend: TracedBackend) {
    this.name = counter.name;
    this.errorType = counter.errorType;
    this.counter = counter;
    this.tracing = tracing;
    this.#backend = backend;
  }

  start(): void | Promise<void> {
    return this.counter.start?.();
  }

  stop(): void | Promise<void> {
    return this.counter.stop?.();
  }

  count(batch: CountBatch): void {
    if (this.tracing.isRecorded(this.tracing.active()))
      this.counter.count(new TracedBatch(batch, this.tracing, this.startSpan(batch)));
    else this.counter.count(batch);
  }

  protected startSpan({ checks }: CountBatch): Span {
    const { name, attributes } = describeBatch(checks, this.#backend);
    return this.tracing.tracer.startSpan(name, { attributes }, this.tracing.active());
  }
}

class TracedReader extends TracedCounter {
  /**
   * The span of a batch that was read, while that batch is called back and may be given to `count`.
   */
  #handed: Span | undefined;

  override count(batch: CountBatch): void {
    const span = this.#handed;
    if (span === undefined) {
      super.count(batch);
      return;
    }
    this.#handed = undefined;
    this.counter.count(new TracedBatch(batch, this.tracing, span));
  }

  read(batch: CountBatch): void {
    if (!this.tracing.isRecorded(this.tracing.active())) {
      this.counter.read?.(batch);
      return;
    }
    const span = this.startSpan(batch);
    const hand = (handed: Span | undefined): Span | undefined => {
      const before = this.#handed;
      this.#handed = handed;
      return before;
    };
    this.counter.read?.(new TracedBatch(batch, this.tracing, span, hand));
  }
}

class TracedBatch implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  readonly #batch: CountBatch;
  readonly #tracing: RunningTracing;
  readonly #span: Span;
  /**
   * For a batch that is read: offers its span to the `count` that follows, and takes it back if
   * none does.
   */
  readonly #hand: ((span: Span | undefined) => Span | undefined) | undefined;
  /** The decision's place in its trace; the answer comes from elsewhere and may call `count`. */
  readonly #place: Place;

  constructor(
    batch: CountBatch,
    tracing: RunningTracing,
    span: Span,
    hand?: (span: Span | undefined) => Span | undefined,
  ) {
    this.checks = batch.checks;
    this.deadlineMs = batch.deadlineMs;
    this.#batch = batch;
    this.#tracing = tracing;
    this.#span = span;
    this.#hand = hand;
    this.#place = tracing.active();
  }

  counted(): void {
    const hand = this.#hand;
    if (hand === undefined) this.#span.end();
    else hand(this.#span);
    this.#tracing.run(this.#place, () => this.#batch.counted());
    if (hand?.(undefined) === this.#span) this.#span.end();
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
  if (backend.kind === "altstore")
    return { name: MEMCACHED_SPAN, attributes: { [MEMCACHED_ATTRIBUTE]: checks.length } };
  const perSecond = backend.hasPerSecond
    ? checks.filter(({ windowSeconds }) => windowSeconds === PER_SECOND_WINDOW).length
    : 0;
  return {
    name: REDIS_SPAN,
    attributes: { [REDIS_MAIN_ATTRIBUTE]: checks.length - perSecond, [REDIS_PER_SECOND_ATTRIBUTE]: perSecond },
  };
}
