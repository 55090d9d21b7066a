// Load in closed loops: each connection sends its next request when the one before is answered.
import { E2eError } from "../../errors.ts";
import { type HttpAnswer, type HttpConnection, openHttpConnection } from "./http-connection.ts";

/** The status of a service with too much work, and the time after which it wants the request again, in milliseconds. */
const BUSY_STATUS = 503;
const BUSY_PAUSE_MS = 1000;

/** What a load sends. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** The next request of a connection; undefined ends it. */
  readonly next: (connection: number) => Uint8Array | undefined;
  /** Status of a good answer; any other one but 503, after which the request is repeated, ends the benchmark. */
  readonly status: number;
  /** Receives the good answers. */
  readonly answered?: (connection: number, answer: HttpAnswer) => void;
}

/** What a load measured. */
export interface LoadResult {
  /** Good answers. */
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A load that runs. */
export interface RunningLoad {
  /** Ends every connection after its current answer. */
  stop(): void;
  /** Resolves when all connections have ended; rejects with BENCHMARK_FAILED at a wrong answer. */
  readonly done: Promise<LoadResult>;
}

/** Starts a load. */
export function startLoad(options: LoadOptions): RunningLoad {
  let isStopped = false;
  const times: number[] = [];
  const startedMs = performance.now();
  const loops = Array.from({ length: options.connections }, (_, index) =>
    runLoop(options, index, { isStopped: () => isStopped, times }),
  );
  const done = Promise.all(loops).then(() => resultOf(times, performance.now() - startedMs));
  done.catch(() => (isStopped = true)); // Also reported to who awaits it.
  return { stop: () => void (isStopped = true), done };
}

/** Runs a load for so long. */
export async function runLoad(options: LoadOptions, durationMs: number): Promise<LoadResult> {
  const load = startLoad(options);
  const timer = setTimeout(() => load.stop(), durationMs);
  try {
    return await load.done;
  } finally {
    clearTimeout(timer);
  }
}

async function runLoop(
  { port, next, status, answered }: LoadOptions,
  index: number,
  { isStopped, times }: { readonly isStopped: () => boolean; readonly times: number[] },
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let startedMs = 0;
  let request: Uint8Array | undefined;
  const fail = (reason: string): void =>
    ended.reject(new E2eError("BENCHMARK_FAILED", `Cannot measure the account service: ${reason}`));
  const connection: HttpConnection = await openHttpConnection(port, {
    answered: (answer) => {
      if (answer.status === status) {
        times.push(performance.now() - startedMs);
        answered?.(index, answer);
        sendNext();
      } else if (answer.status === BUSY_STATUS) setTimeout(send, BUSY_PAUSE_MS);
      else fail(`it answered ${answer.head.split("\r\n", 1)[0] ?? ""}`);
    },
    failed: fail,
  });
  const send = (): void => {
    if (request === undefined || isStopped()) {
      ended.resolve();
      return;
    }
    connection.send(request);
  };
  const sendNext = (): void => {
    request = next(index);
    startedMs = performance.now(); // The time of a request that is repeated counts from its first sending.
    send();
  };
  sendNext();
  await ended.promise.finally(() => connection.close());
}

function resultOf(times: readonly number[], durationMs: number): LoadResult {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { count: times.length, perSecond: (times.length / durationMs) * 1000, p50Ms: at(0.5), p99Ms: at(0.99) };
}
