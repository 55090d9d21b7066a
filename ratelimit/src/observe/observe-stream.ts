// The stream on which the pod reports what it counts, while the control plane wants it: on the connection of its ADS stream.
import { create } from "@bufbuild/protobuf";
import { type Client, type ClientDuplexStream, type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { Backoff } from "@weir/common/backoff/backoff";
import { callReason } from "@weir/common/grpc/call-reason";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import {
  type ObserveRequest,
  ObserveRequestSchema,
  type ObserveResponse,
  ObserveService,
  type ReadCounters,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { answerCounters } from "./answer-counters.ts";
import type { ObservedPod } from "./observed-pod.ts";
import { KEY_VALUES, KeyPresenter, observationMessages } from "./observation-message.ts";
import { type Observed, withoutCounts } from "./observed.ts";
import type { RuleKeyCounts } from "./rule-keys.ts";
import type { RuleName } from "./rule-name.ts";

const { observe: METHOD } = serviceDefinition(ObserveService);

/** Most rules whose keys are reported. */
const KEYS_OF_MAX = 32;

/** Waits before the stream is opened again, in milliseconds. */
const BACKOFF = { initialMs: 1000, maxMs: 60_000, factor: 1, jitter: true };

/** Shortest time between two lines about reports that fail, in milliseconds. */
const FAILURE_INTERVAL_MS = 600_000;

type Call = ClientDuplexStream<ObserveRequest, ObserveResponse>;

export interface ObserveStreamDeps {
  /** The connection. */
  readonly client: Client;
  readonly headers: Metadata;
  readonly observed: ObservedPod;
  readonly random: () => number;
  readonly log: Log;
}

/** The stream of one connection, opened again when it ends but not when the server does not have it. */
export class ObserveStream {
  readonly #deps: ObserveStreamDeps;
  readonly #nodeId: string;
  readonly #backoff: Backoff;
  readonly #failures: RateLimitedLog;
  readonly #presenter: KeyPresenter;
  /** Undefined between two streams, and when it is closed. */
  #call: Call | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  /** True while totals are wanted; next to it the rules whose keys are. */
  #wantsTotals = false;
  #keysOf: readonly RuleName[] = [];
  /** True while the server has not read the messages before. */
  #isFull = false;
  /** True while counters are being read: one question at a time. */
  #isReading = false;
  /** The responses that are being taken. */
  #wanted: Promise<void> = Promise.resolve();

  constructor(deps: ObserveStreamDeps, { nodeId }: { readonly nodeId: string }) {
    this.#deps = deps;
    this.#nodeId = nodeId;
    this.#backoff = new Backoff({ ...BACKOFF, random: deps.random });
    this.#failures = new RateLimitedLog(deps.log, { intervalMs: FAILURE_INTERVAL_MS });
    this.#presenter = new KeyPresenter(deps.observed.keyValues);
    this.#open();
  }

  /** Ends it. */
  close(): void {
    const call = this.#call;
    this.#call = undefined;
    clearTimeout(this.#retryTimer);
    this.#stopWatching();
    call?.cancel();
  }

  #open(): void {
    const { client, headers, observed } = this.#deps;
    const { path, requestSerialize, responseDeserialize } = METHOD;
    const call: Call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, headers);
    this.#call = call;
    this.#isFull = false;
    call.on("data", (response: ObserveResponse) => {
      if (response.read !== undefined) void this.#answer(call, response.read);
      this.#want(call, response);
    });
    call.on("drain", () => (this.#isFull = false));
    call.on("error", (error: ServiceError) => this.#ended(call, error));
    call.on("end", () => this.#ended(call, undefined));
    const { topKeys, keyValues } = observed;
    const hello = { nodeId: this.#nodeId, topKeys, keyValues: KEY_VALUES[keyValues], readsCounters: true };
    call.write(create(ObserveRequestSchema, { content: { case: "hello", value: hello } }));
  }

  /** One after the other: watching begins with a sweep. */
  #want(call: Call, response: ObserveResponse): void {
    this.#wanted = this.#wanted.then(async () => {
      if (call === this.#call) await this.#take(call, response).catch((error: unknown) => this.#failed(call, error));
    });
  }

  async #take(call: Call, { totals, keysOf, hashKey }: ObserveResponse): Promise<void> {
    const { observer } = this.#deps.observed;
    this.#presenter.useHashKey(hashKey);
    this.#keysOf = keysOf.slice(0, KEYS_OF_MAX).map(({ domain, path }) => ({ domain, path }));
    const isNew = totals && !this.#wantsTotals;
    this.#wantsTotals = totals;
    if (!totals && this.#keysOf.length === 0) {
      this.#backoff.reset();
      observer.unwatch();
      return;
    }
    const failed = (error: unknown): void => this.#failed(call, error);
    await observer.watch({ observed: (observed) => void this.#report(call, observed).catch(failed), failed });
    if (isNew && call === this.#call) this.#send(call, observer.history(), []);
  }

  /** A question before the answer to the one before has none. */
  async #answer(call: Call, question: ReadCounters): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { readCounters } = this.#deps.observed;
    const value = await answerCounters(question, readCounters, performance.now());
    this.#isReading = false;
    if (call === this.#call) call.write(create(ObserveRequestSchema, { content: { case: "counters", value } }));
  }

  async #report(call: Call, observed: Observed): Promise<void> {
    const keys = await this.#deps.observed.observer.readKeys(this.#keysOf);
    // A server misses the observations that it does not read.
    if (call !== this.#call || this.#isFull) return;
    if (this.#wantsTotals) this.#send(call, observed, keys);
    else if (keys.length > 0) this.#send(call, withoutCounts(observed), keys);
    this.#backoff.reset(); // Not before: a report that always fails is tried less and less often.
  }

  #send(call: Call, observed: Observed, keys: readonly RuleKeyCounts[]): void {
    for (const message of observationMessages(observed, keys, this.#presenter)) this.#isFull = !call.write(message);
  }

  /** Ends a stream that cannot be written: what is observed must not end the pod. */
  #failed(call: Call, error: unknown): void {
    if (call !== this.#call) return;
    this.#failures.error("Cannot report what is counted", { error });
    call.cancel();
  }

  #ended(call: Call, error: ServiceError | undefined): void {
    if (call !== this.#call) return; // Closed, or after an error there may be an end, too.
    this.#call = undefined;
    this.#stopWatching();
    const { log } = this.#deps;
    if (error?.code === status.UNIMPLEMENTED) {
      log.debug("The configuration server does not watch pods");
      return;
    }
    const retryInMs = Math.round(this.#backoff.nextMs());
    const reason = error === undefined ? "the server ended the stream" : callReason(error);
    log.debug("Lost the stream for observations, retrying", { reason, retryInMs });
    this.#retryTimer = setTimeout(() => this.#open(), retryInMs);
  }

  #stopWatching(): void {
    this.#wantsTotals = false;
    this.#keysOf = [];
    this.#deps.observed.observer.unwatch();
  }
}
