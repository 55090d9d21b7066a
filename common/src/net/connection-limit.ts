// Keeps listeners from taking more connections than they may have, each by itself and all together:
// the process needs file descriptors for its files and its stores, too. A connection beyond that is
// closed at once, so that its client hears of it, and the log tells once. It knows nothing of
// protocols.
import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";

import type { Log } from "../log/log.ts";

/**
 * Descriptors that are kept for other things than connections of listeners: a share of all, within
 * bounds.
 */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 64;
const RESERVE_MAX = 512;

/**
 * Connections that are kept for each listener, whatever the others take: a share of all, at most so
 * many.
 */
const OWN_SHARE = 1 / 8;
const OWN_MAX = 128;

/** How often it is told that connections are refused, in milliseconds. */
const TOLD_EVERY_MS = 60_000;

/** A listener. */
export interface LimitedListener {
  /** What listens, such as "gRPC". */
  readonly what: string;
  /** Most connections of this listener; without it only those of the process count. */
  readonly max?: number;
}

/** A listener and its connections. */
interface Listener {
  readonly server: Server;
  readonly max: number;
  open: number;
}

/** What all listeners of a process have together. */
export class ConnectionBudget {
  readonly #total: number;
  readonly #descriptors: number | undefined;
  /** What each listener can have at any time, if its own maximum allows it. */
  readonly #own: number;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<Listener>();
  #open = 0;
  #refused = 0;
  #toldAtMs = -Infinity;

  /** `descriptors` is what the process may have open; undefined = no limit. */
  constructor(descriptors: number | undefined, nowMs: () => number) {
    this.#descriptors = descriptors;
    this.#total = descriptors === undefined ? Infinity : Math.max(1, descriptors - reserveOf(descriptors));
    this.#own = Math.min(OWN_MAX, Math.floor(this.#total * OWN_SHARE));
    this.#nowMs = nowMs;
  }

  /** Limits a server that does not listen yet. */
  limit(server: Server, { what, max = Infinity }: LimitedListener, log: Log): void {
    const listener: Listener = { server, max, open: 0 };
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
    server.on("drop", () => this.#tell(what, listener, log));
    server.once("close", () => {
      this.#listeners.delete(listener);
      this.#adjust();
    });
    server.on("error", (error) => {
      // Before it listens, whoever opens it hears of it. Afterwards it is a connection that could
      // not be taken; the others go on.
      if (server.listening) log.warn("a connection could not be accepted", { to: what, error });
    });
  }

  /**
   * Node looks at the number before it takes a connection. What is kept for the other listeners is
   * not free.
   */
  #adjust(): void {
    let kept = 0;
    for (const listener of this.#listeners) kept += this.#keptFor(listener);
    for (const listener of this.#listeners) {
      const free = this.#total - this.#open - (kept - this.#keptFor(listener));
      listener.server.maxConnections = Math.max(0, Math.min(listener.max, listener.open + free));
    }
  }

  #keptFor({ max, open }: Listener): number {
    return Math.max(0, Math.min(max, this.#own) - open);
  }

  #tell(what: string, listener: Listener, log: Log): void {
    this.#refused += 1;
    const nowMs = this.#nowMs();
    if (nowMs - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    const reason =
      listener.open >= listener.max
        ? `${listener.max} are the most that this listener takes`
        : `all are taken that ${this.#descriptors ?? 0} file descriptors leave room for here, beside those of other listeners; raise the limit (ulimit -n)`;
    log.warn("connections are refused, those that are open are served", { to: what, reason, refused: this.#refused });
    this.#refused = 0;
  }
}

/** The one of this process. Its number is a matter of the whole process, whoever listens. */
let budget: ConnectionBudget | undefined;

/** Limits a server that does not listen yet to its own maximum and to what the process can have. */
export function limitConnections(server: Server, listener: LimitedListener, log: Log): void {
  budget ??= new ConnectionBudget(readDescriptorLimit("/proc/self/limits"), () => performance.now());
  budget.limit(server, listener, log);
}

/**
 * How many file descriptors the process may have, as proc(5) tells; undefined where it does not, or
 * without limit.
 */
export function readDescriptorLimit(file: string): number | undefined {
  let limits: string;
  try {
    limits = readFileSync(file, "utf8");
  } catch {
    return undefined; // Not Linux: the system refuses by itself what it cannot have.
  }
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

function reserveOf(descriptors: number): number {
  return Math.min(RESERVE_MAX, Math.max(RESERVE_MIN, Math.floor(descriptors * RESERVE_SHARE)));
}
