// The load generator, a process of its own so that the event loop of the measuring program never
// disturbs it. Takes its order as one JSON argument and prints its report as one JSON line.
import { setTimeout as delay } from "node:timers/promises";
import type { CallConnection } from "./call-connection.ts";
import { keysPerCall, openCallConnection } from "./call-connection.ts";

/** What to generate. */
export interface LoadOrder {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The encoded request in base64, holding KEY_MARKER. */
  readonly message: string;
  readonly connections: number;
  /** Different keys, asked about in turn. */
  readonly keys: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /**
   * Closed: so many calls in flight per connection, a new one for each answer. Open: so many calls
   * a second, whatever happens.
   */
  readonly load:
    { readonly kind: "closed"; readonly inFlight: number } | { readonly kind: "open"; readonly perSecond: number };
}

/** The result, for the measured time only. */
export interface LoadReport {
  readonly answers: number;
  readonly overLimit: number;
  readonly seconds: number;
  /**
   * Latencies, also of the calls that were still unanswered at the end, which count with their
   * waiting until then.
   */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Share of one core the generator itself used, 0 to 1: near 1 it would have measured itself. */
  readonly generatorLoad: number;
  /** When the measured time began and ended, in milliseconds since the epoch. */
  readonly beganMs: number;
  readonly endedMs: number;
}

/**
 * Latencies kept for the percentiles; with more answers than that, those of the last million count.
 */
const LATENCIES_MAX = 1 << 20;

/**
 * Calls in flight per connection that can be distinguished; an open loop in which the server lags that
 * far behind measures nothing.
 */
const BACKLOG_MAX = 60_000;

/** Runs an order. Rejects as soon as a single call fails. */
export async function generateLoad(order: LoadOrder): Promise<LoadReport> {
  const run = new LoadRun(order);
  await run.open();
  try {
    return await run.measure();
  } finally {
    run.close();
  }
}

class LoadRun {
  private readonly order: LoadOrder;
  private readonly connections: CallConnection[] = [];
  private readonly latencies = new Float64Array(LATENCIES_MAX);
  private readonly keysPerCall: number;
  private key = 0;
  private answers = 0;
  private overLimit = 0;
  private isMeasuring = false;
  private isDone = false;
  private fail: (error: Error) => void = () => undefined;

  constructor(order: LoadOrder) {
    this.order = order;
    this.keysPerCall = keysPerCall(Buffer.from(order.message, "base64"));
  }

  async open(): Promise<void> {
    const { host, port, path, message, connections } = this.order;
    const target = { host, port, path, message: Buffer.from(message, "base64") };
    for (let index = 0; index < connections; index++) {
      const connection: CallConnection = await openCallConnection(target, {
        answered: (code, sentMs) => this.answered(connection, code, sentMs),
        failed: (reason) => this.fail(new Error(reason)),
      });
      this.connections.push(connection);
    }
  }

  async measure(): Promise<LoadReport> {
    const { load, warmUpMs, measureMs } = this.order;
    const failed = new Promise<never>((_, reject) => {
      this.fail = reject;
    });
    if (load.kind === "closed") this.startClosed(load.inFlight);
    else this.startOpen(load.perSecond);
    await Promise.race([failed, delay(warmUpMs)]);
    this.isMeasuring = true;
    const beganMs = Date.now();
    const began = performance.now();
    const cpuBefore = process.cpuUsage();
    await Promise.race([failed, delay(measureMs)]);
    const cpu = process.cpuUsage(cpuBefore);
    this.isDone = true;
    const seconds = (performance.now() - began) / 1000;
    // A call that still waits has taken at least that long: leaving it out would make a server that
    // answers few calls look fast.
    const nowMs = performance.now();
    const waitingMs = this.connections.flatMap((connection) =>
      connection.waitingSinceMs().map((sentMs) => nowMs - sentMs),
    );
    const answeredMs = this.latencies.subarray(0, Math.min(this.answers, LATENCIES_MAX));
    const sorted = Float64Array.from([...answeredMs, ...waitingMs]).sort();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    return {
      answers: this.answers,
      overLimit: this.overLimit,
      seconds,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
      generatorLoad: (cpu.user + cpu.system) / 1e6 / seconds,
      beganMs,
      endedMs: Date.now(),
    };
  }

  close(): void {
    this.isDone = true;
    for (const connection of this.connections) connection.close();
  }

  private startClosed(inFlight: number): void {
    for (const connection of this.connections) {
      for (let call = 0; call < inFlight; call++) connection.call(this.nextKey(), performance.now());
      connection.flush();
    }
  }

  // Calls arrive in bursts of one millisecond, and between them the generator sleeps: Redis shares
  // its core. A call counts from the moment its burst was due, so a generator or a server that lags
  // shows up as latency instead of as fewer calls.
  private startOpen(perSecond: number): void {
    const beganMs = performance.now();
    const perBurst = perSecond / 1000;
    let sent = 0;
    const burst = (): void => {
      if (this.isDone) return;
      const due = Math.floor(performance.now() - beganMs) * perBurst;
      for (; sent < due; sent++) {
        const connection = this.connections[sent % this.connections.length]!;
        if (connection.inFlight >= BACKLOG_MAX) {
          this.fail(new Error(`the server cannot keep up with ${perSecond} calls a second`));
          return;
        }
        connection.call(this.nextKey(), beganMs + Math.floor(sent / perBurst));
      }
      for (const connection of this.connections) connection.flush();
      setTimeout(burst, 1);
    };
    burst();
  }

  private answered(connection: CallConnection, code: number, sentMs: number): void {
    const nowMs = performance.now();
    if (this.isMeasuring && !this.isDone) {
      this.latencies[this.answers % LATENCIES_MAX] = nowMs - sentMs;
      this.answers++;
      if (code === 2) this.overLimit++;
    }
    if (this.order.load.kind === "open" || this.isDone) return;
    connection.call(this.nextKey(), nowMs);
    this.flushSoon(connection);
  }

  private readonly waiting = new Set<CallConnection>();

  // All answers of one read arrive in one go; their successors leave in one write.
  private flushSoon(connection: CallConnection): void {
    if (this.waiting.size === 0) {
      queueMicrotask(() => {
        for (const each of this.waiting) each.flush();
        this.waiting.clear();
      });
    }
    this.waiting.add(connection);
  }

  private nextKey(): number {
    this.key = this.key + this.keysPerCall >= this.order.keys ? 0 : this.key + this.keysPerCall;
    return this.key;
  }
}

if (import.meta.main) {
  const order = JSON.parse(process.argv[2] ?? "") as LoadOrder;
  try {
    process.stdout.write(`${JSON.stringify(await generateLoad(order))}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
