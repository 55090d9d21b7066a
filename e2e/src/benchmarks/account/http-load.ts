// Load over HTTP/1.1 in closed loops, which the load generator in C does not speak: each connection sends its next
// request, bytes already, when the one before is answered, and as little as possible of the answer is read.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { E2eError } from "../../errors.ts";
import { percentile } from "../summary.ts";

/** The status of a service with too much work, and the time after which it wants the request again, in milliseconds. */
const BUSY_STATUS = 503;
const BUSY_PAUSE_MS = 1000;

const HEAD_END = "\r\n\r\n";

export interface HttpAnswer {
  readonly status: number;
  /** The status line and the headers. */
  readonly head: string;
}

/** The connections and the requests of a load. */
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

/** The throughput and the latencies of a load. */
export interface LoadResult {
  /** Good answers in a second. */
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
  const run = { isStopped: () => isStopped, times: [] as number[] };
  const startedMs = performance.now();
  const loops = Array.from({ length: options.connections }, (_, index) => runLoop(options, index, run));
  const done = Promise.all(loops).then(() => ({
    perSecond: (run.times.length / (performance.now() - startedMs)) * 1000,
    p50Ms: percentile(run.times, 0.5),
    p99Ms: percentile(run.times, 0.99),
  }));
  const stop = (): void => void (isStopped = true);
  done.catch(stop); // Also reported to who awaits it.
  return { stop, done };
}

/** Runs a load for so long. */
export async function runLoad(options: LoadOptions, durationMs: number): Promise<LoadResult> {
  const load = startLoad(options);
  const timer = setTimeout(() => load.stop(), durationMs);
  return load.done.finally(() => clearTimeout(timer));
}

async function runLoop(
  { port, next, status, answered }: LoadOptions,
  index: number,
  run: { readonly isStopped: () => boolean; readonly times: number[] },
): Promise<void> {
  const socket = connect({ host: STACK_HOST, port, noDelay: true });
  await once(socket, "connect");
  const ask = asker(socket);
  try {
    for (let request = next(index); request !== undefined && !run.isStopped(); request = next(index)) {
      const startedMs = performance.now(); // The time of a request that is repeated counts from its first sending.
      let answer = await ask(request);
      while (answer.status === BUSY_STATUS) {
        await delay(BUSY_PAUSE_MS);
        if (run.isStopped()) return;
        answer = await ask(request);
      }
      if (answer.status !== status) throw failed(`it answered ${answer.head.split("\r\n", 1)[0] ?? ""}`);
      run.times.push(performance.now() - startedMs);
      answered?.(index, answer);
    }
  } finally {
    socket.destroy();
  }
}

/** Sends a request on the connection, and resolves with its answer. */
function asker(socket: Socket): (request: Uint8Array) => Promise<HttpAnswer> {
  let received: Buffer = Buffer.alloc(0);
  let waiting: PromiseWithResolvers<HttpAnswer> | undefined;
  let end: E2eError | undefined;
  const fail = (reason: string): void => {
    end ??= failed(reason);
    waiting?.reject(end);
  };
  socket.on("data", (part: Buffer) => {
    received = received.length === 0 ? part : Buffer.concat([received, part]);
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = received.toString("latin1", 0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (received.length < headEnd + HEAD_END.length + length) return;
    received = Buffer.alloc(0);
    waiting?.resolve({ status: Number(head.slice(9, 12)), head });
  });
  socket.on("error", (error) => fail(error.message));
  socket.on("close", () => fail("the service closed the connection"));
  return (request) => {
    if (end !== undefined) return Promise.reject(end);
    waiting = Promise.withResolvers();
    socket.write(request);
    return waiting.promise;
  };
}

function failed(reason: string): E2eError {
  return new E2eError("BENCHMARK_FAILED", `Cannot measure the account service: ${reason}`);
}
