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
type TraceContext = ReturnType<RunningTracing["active"]>;

/**
 * Wraps a counter so that it records one span for every batch of a call that is recorded: from
 * receiving it to the answer, including a read before. Lengths are numbers of counters.
 */
export class TracedCounter implements Counter {
  readonly name: string;
  readonly errorType: Counter["errorType"];
  readonly givesBack?: boolean;
  readonly cellsProblem?: () => Promise<string | undefined>;
  readonly predicts?: boolean;
  readonly #counter: Counter;
  readonly #tracing: RunningTracing;
  readonly #backend: TracedBackend;
  /** The span of a batch that was read, while that batch is called back and may be given to `count`. */
  #handed: Span | undefined;

  constructor(counter: Counter, tracing: RunningTracing, backend: TracedBackend) {
    this.name = counter.name;
    this.errorType = counter.errorType;
    if (counter.givesBack !== undefined) this.givesBack = counter.givesBack;
    if (counter.predicts !== undefined) this.predicts = counter.predicts;
    if (counter.cellsProblem !== undefined)
      this.cellsProblem = () => counter.cellsProblem?.() ?? Promise.resolve(undefined);
    this.#counter = counter;
    this.#tracing = tracing;
    this.#backend = backend;
  }

  start(): void | Promise<void> {
    return this.#counter.start?.();
  }

  stop(): void | Promise<void> {
    return this.#counter.stop?.();
  }

  count(batch: CountBatch): void {
    const span = this.#handed ?? this.#startSpan(batch);
    this.#handed = undefined;
    if (span === undefined) {
      this.#counter.count(batch);
      return;
    }
    const traced = new TracedBatch(batch, this.#tracing, span, (answer) => {
      span.end();
      answer();
    });
    this.#counter.count(traced);
  }

  read(batch: CountBatch): void {
    this.#counter.read(this.#traceRead(batch));
  }

  #traceRead(batch: CountBatch): CountBatch {
    const span = this.#startSpan(batch);
    if (span === undefined) return batch;
    return new TracedBatch(batch, this.#tracing, span, (answer) => {
      this.#handed = span;
      answer();
      if (this.#handed === span) span.end(); // Nothing was counted.
      this.#handed = undefined;
    });
  }

  /** The span of a batch; undefined when its call is not recorded. */
  #startSpan({ checks }: CountBatch): Span | undefined {
    const context = this.#tracing.active();
    if (!this.#tracing.isRecorded(context)) return undefined;
    const { name, attributes } = describeBatch(checks, this.#backend);
    return this.#tracing.tracer.startSpan(name, { attributes }, context);
  }
}

class TracedBatch implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  readonly #batch: CountBatch;
  readonly #tracing: RunningTracing;
  readonly #span: Span;
  readonly #counted: (answer: () => void) => void;
  /** That of the decision; the answer comes from elsewhere and may call `count`. */
  readonly #context: TraceContext;

  constructor(batch: CountBatch, tracing: RunningTracing, span: Span, counted: (answer: () => void) => void) {
    this.checks = batch.checks;
    this.deadlineMs = batch.deadlineMs;
    this.#batch = batch;
    this.#tracing = tracing;
    this.#span = span;
    this.#counted = counted;
    this.#context = tracing.active();
  }

  counted(): void {
    this.#counted(() => this.#tracing.run(this.#context, () => this.#batch.counted()));
  }

  failed(error: StoreError): void {
    this.#span.setAttribute("error.type", error.code);
    this.#span.recordException(error);
    this.#span.end();
    this.#tracing.run(this.#context, () => this.#batch.failed(error));
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
