// Limits the connections of each listener and of all together: the process needs file descriptors
// for its files and its stores, too. Connections beyond the limit are closed immediately.
import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";

import { callerGroup } from "../callers/caller-group.ts";
import { FairShares } from "../callers/fair-shares.ts";
import type { Log } from "../log/log.ts";
import { RateLimitedLog } from "../log/rate-limited-log.ts";

/** File descriptors that are reserved for everything but connections: a share of all, within bounds. */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 64;
const RESERVE_MAX = 512;

/** Connections that are reserved for each listener: a share of all, within a bound. */
const OWN_SHARE = 1 / 8;
const OWN_MAX = 128;

/** Connections beyond its limit that a fair listener accepts for a moment, to close others in their place. */
const ACCEPTED_BEYOND = 16;

/** Shortest time between two log lines about refused connections, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

export interface LimitedListener {
  /** The protocol or purpose, such as "gRPC". */
  readonly what: string;
  /** Most connections of this listener; without it only the limit of the process applies. */
  readonly max?: number;
  /** True closes a connection of the network that has the most when a full listener gets one of another. */
  readonly isFair?: boolean;
  /** Called with the number of open connections whenever it changes. */
  readonly onOpen?: (open: number) => void;
  /** Called for each connection that is closed, or refused, because there are too many. */
  readonly onRefused?: () => void;
}

/** A listener and its connections. */
interface Listener {
  readonly server: Server;
  readonly max: number;
  readonly acceptedBeyond: number;
  open: number;
  /** How many it may have now. */
  limit: number;
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
  limit(server: Server, { what, max = Infinity, isFair = false, onOpen, onRefused }: LimitedListener, log: Log): void {
    const acceptedBeyond = isFair ? ACCEPTED_BEYOND : 0;
    const listener: Listener = { server, max, acceptedBeyond, open: 0, limit: max };
    const limits = { intervalMs: LOG_INTERVAL_MS, monotonicMs: this.#nowMs };
    const refusals = this.#refusals.getOrInsertComputed(log, () => new RateLimitedLog(log, limits));
    const refused = (): void => {
      onRefused?.();
      refusals.warn("Refused connections, open ones are served", { to: what, reason: this.#refusalReason(listener) });
    };
    const shares = new FairShares<() => void>();
    this.#listeners.add(listener);
    this.#adjust();
    const count = (change: 1 | -1): void => {
      listener.open += change;
      this.#open += change;
      this.#adjust();
      onOpen?.(listener.open);
    };
    server.on("connection", (socket: Socket) => {
      count(1);
      socket.once("close", () => count(-1));
      if (isFair) this.#share(listener, shares, socket, refused);
    });
    server.on("drop", refused);
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

  /** Closes a connection of the network that has the most when there are too many, perhaps the new one. */
  #share({ limit }: Listener, shares: FairShares<() => void>, socket: Socket, refused: () => void): void {
    const { networks } = callerGroup(socket.remoteAddress);
    const close = (): void => {
      shares.remove(networks, close);
      refused();
      socket.destroy();
    };
    if (shares.weight >= limit) {
      const closeOne = shares.toDisplace(networks) ?? close;
      closeOne();
      if (closeOne === close) return;
    }
    shares.add(networks, close);
    socket.once("close", () => shares.remove(networks, close));
  }

  /** Node checks maxConnections before it accepts a connection. */
  #adjust(): void {
    let reserved = 0;
    for (const listener of this.#listeners) reserved += this.#reservedFor(listener);
    for (const listener of this.#listeners) {
      const free = this.#total - this.#open - (reserved - this.#reservedFor(listener));
      listener.limit = Math.max(0, Math.min(listener.max, listener.open + free));
      listener.server.maxConnections = listener.limit + listener.acceptedBeyond;
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
