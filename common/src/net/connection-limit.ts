// Limits the connections of each listener and of all together: the process needs file descriptors
// for its files and its stores, too. Connections beyond the limit are closed immediately.
import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";

import type { Log } from "../log/log.ts";
import { RateLimitedLog } from "../log/rate-limited-log.ts";

/** File descriptors that are reserved for everything but connections: a share of all, within bounds. */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 64;
const RESERVE_MAX = 512;

/** Connections that are reserved for each listener: a share of all, within a bound. */
const OWN_SHARE = 1 / 8;
const OWN_MAX = 128;

/** Shortest time between two log lines about refused connections, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** The limit of one listener. */
export interface LimitedListener {
  /** The protocol or purpose, such as "gRPC". */
  readonly what: string;
  /** Most connections of this listener; without it only the limit of the process applies. */
  readonly max?: number;
}

/** A listener and its connections. */
interface Listener {
  readonly server: Server;
  readonly max: number;
  open: number;
}

/** The connections that all listeners of a process share. */
export class ConnectionBudget {
  readonly #total: number;
  readonly #descriptors: number | undefined;
  /** Connections that are reserved for each listener, if its own maximum allows it. */
  readonly #own: number;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<Listener>();
  #open = 0;
  /** Shared by listeners with the same log: without free descriptors they all refuse. */
  readonly #refusals = new WeakMap<Log, RateLimitedLog>();

  /** `descriptors` is the file descriptors that the process may open; undefined = no limit. */
  constructor(descriptors: number | undefined, nowMs: () => number) {
    this.#descriptors = descriptors;
    this.#total = descriptors === undefined ? Infinity : Math.max(1, descriptors - reserveOf(descriptors));
    this.#own = Math.min(OWN_MAX, Math.floor(this.#total * OWN_SHARE));
    this.#nowMs = nowMs;
  }

  /** Limits a server that does not listen yet. */
  limit(server: Server, { what, max = Infinity }: LimitedListener, log: Log): void {
    const listener: Listener = { server, max, open: 0 };
    const limits = { intervalMs: LOG_INTERVAL_MS, clock: this.#nowMs };
    const refusals = this.#refusals.getOrInsertComputed(log, () => new RateLimitedLog(log, limits));
    this.#listeners.add(listener);
    this.#adjust();
    server.on("connection", (socket: Socket) => {
      listener.open += 1;
      this.#open += 1;
      this.#adjust();
      socket.once("close", () => {
        listener.open -= 1;
        this.#open -= 1;
        this.#adjust();
      });
    });
    server.on("drop", () => {
      refusals.warn("Refused connections, open ones are served", { to: what, reason: this.#refusalReason(listener) });
    });
    server.once("close", () => {
      this.#listeners.delete(listener);
      this.#adjust();
    });
    server.on("error", (error) => {
      // While the server opens, listen() reports the error. Afterwards one connection could not be
      // accepted, and the others stay.
      if (server.listening) log.warn("Cannot accept a connection", { to: what, error });
    });
  }

  /** Node checks maxConnections before it accepts a connection. */
  #adjust(): void {
    let reserved = 0;
    for (const listener of this.#listeners) reserved += this.#reservedFor(listener);
    for (const listener of this.#listeners) {
      const free = this.#total - this.#open - (reserved - this.#reservedFor(listener));
      listener.server.maxConnections = Math.max(0, Math.min(listener.max, listener.open + free));
    }
  }

  #reservedFor({ max, open }: Listener): number {
    return Math.max(0, Math.min(max, this.#own) - open);
  }

  #refusalReason({ open, max }: Listener): string {
    if (open >= max) return `${max} connections are the maximum of this listener`;
    return `${this.#descriptors ?? 0} file descriptors allow no more connections here, besides those of other listeners; raise the limit (ulimit -n)`;
  }
}

/** The budget of this process: file descriptors belong to the process, not to a listener. */
let budget: ConnectionBudget | undefined;

/** Limits a server that does not listen yet to its own maximum and to the limit of the process. */
export function limitConnections(server: Server, listener: LimitedListener, log: Log): void {
  budget ??= new ConnectionBudget(readDescriptorLimit("/proc/self/limits"), () => performance.now());
  budget.limit(server, listener, log);
}

/** How many file descriptors the process may open, from proc(5); undefined = unknown or no limit. */
export function readDescriptorLimit(file: string): number | undefined {
  let limits: string;
  try {
    limits = readFileSync(file, "utf8");
  } catch {
    return undefined; // Not Linux: only the system itself limits connections.
  }
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

function reserveOf(descriptors: number): number {
  return Math.min(RESERVE_MAX, Math.max(RESERVE_MIN, Math.floor(descriptors * RESERVE_SHARE)));
}
