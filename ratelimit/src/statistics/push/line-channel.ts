// The base of the channels to a TCP server, to a UDP server and to standard output: a queue of lines,
// and log lines on whether they can be sent.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { PacketQueue } from "./packet-queue.ts";

/** Shortest time between two warnings about the same problem, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** Longest wait of `close` for the last lines, in milliseconds. */
const CLOSE_MAX_MS = 1000;

/**
 * Sends lines without blocking its caller. Lines that it cannot send it queues up to a bound, then
 * drops.
 */
export abstract class LineChannel {
  /** The address of the server; undefined for standard output. */
  readonly address: string | undefined;
  protected readonly queue: PacketQueue;
  readonly #log: Log;
  readonly #warnings: RateLimitedLog;
  #isReached = false;
  #becameIdle: (() => void) | undefined;

  constructor(log: Log, packetMaxBytes: number, address?: string) {
    this.#log = log;
    this.#warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS });
    this.queue = new PacketQueue(packetMaxBytes);
    this.address = address;
  }

  /** Starts to connect. */
  abstract open(): void;
  /** Returns true if lines can be sent now; otherwise counters keep their growth for later. */
  abstract isReady(): boolean;

  /** Returns true if at least half of the queue is free; a full queue drops lines. */
  hasRoom(): boolean {
    return this.queue.hasRoom;
  }

  /** Queues a line with its line end, `times` times. It is sent in a full packet or at `flush`. */
  write(line: string, times: number): void {
    this.queue.add(line, times);
    if (!this.queue.isEmpty) this.send();
  }

  /** Sends what is queued. */
  flush(): void {
    this.queue.endPacket();
    this.send();
    if (this.queue.hasDropped()) this.#warn("Dropped statistics, the server is too slow");
  }

  /** Sends what is queued, waits for that a short while, and closes. */
  async close(): Promise<void> {
    this.flush();
    if (!this.isIdle()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MAX_MS);
      this.#becameIdle = resolve;
      await promise;
      clearTimeout(timer);
    }
    await this.end();
  }

  /** Sends packets of the queue if possible. */
  protected abstract send(): void;
  /** Returns true if there is nothing left that can be sent. */
  protected abstract isIdle(): boolean;
  /** Closes the connection. */
  protected abstract end(): void | Promise<void>;

  /** Ends the wait of `close` if nothing is left to send. */
  protected settle(): void {
    if (this.isIdle()) this.#becameIdle?.();
  }

  /** Notes that the server takes what is sent. */
  protected reached(): void {
    if (this.#isReached) return;
    this.#isReached = true;
    this.#warnings.clear();
    this.#log.info("Sending statistics", { to: this.#receiver });
  }

  /** Notes that the server cannot be reached, or was lost. */
  protected lost(error: unknown): void {
    this.#isReached = false;
    this.#warn("Cannot send statistics, counters are kept until the server is back", { error });
  }

  get #receiver(): string {
    return this.address ?? "standard output";
  }

  #warn(message: string, fields = {}): void {
    this.#warnings.warn(message, { to: this.#receiver, ...fields });
  }
}
