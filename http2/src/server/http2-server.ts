// The server: attaches connections to the sockets of a listener, and closes them.
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { ChunkPool } from "../output/chunk-pool.ts";
import { Connection } from "../connection/connection.ts";
import { type ConnectionDeps, hpackLimits } from "../connection/connection-deps.ts";
import { createCounters, type Http2Counters } from "../limits/counters.ts";
import { DEFAULT_LIMITS, type Http2Limits } from "../limits/limits.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { DEADLINE_TICK_MS, Deadlines } from "../grpc/deadlines.ts";
import { FieldList } from "../hpack/field-list.ts";
import type { Methods, Turn } from "../grpc/method.ts";
import { connectionAgeMs } from "./connection-age.ts";
import { SocketSink } from "./socket-sink.ts";

/** How often connections are looked at for what depends on time, in milliseconds. */
const TICK_MS = 1000;

export interface Http2ServerDeps {
  readonly methods: Methods;
  readonly turn: Turn;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** The server. Its owner listens, and stops doing so before it drains or closes the server. */
export class Http2Server {
  /** The counters since the start. */
  readonly counters: Http2Counters = createCounters();
  readonly #deps: ConnectionDeps;
  readonly #random: () => number;
  readonly #connections = new Map<Connection, Socket>();
  /** Open connections that `shed` closes. */
  readonly #shed = new Set<Connection>();
  #tickTimer: NodeJS.Timeout | undefined;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #isDraining = false;
  #onEmpty: (() => void)[] = [];

  /** `limits` replaces some of the defaults. */
  constructor({ methods, turn, random }: Http2ServerDeps, limits: Partial<Http2Limits> = {}) {
    const all = { ...DEFAULT_LIMITS, ...limits };
    this.#random = random;
    this.#deps = {
      methods,
      turn,
      limits: all,
      counters: this.counters,
      pool: new ChunkPool(all.freeChunksMax),
      budget: new ByteBudget(all.processMaxBytes),
      deadlines: new Deadlines(turn.monotonicMs(), () => this.#startDeadlines()),
      fields: new FieldList(hpackLimits(all)),
    };
  }

  /** Calls that methods have not answered, over all connections. */
  get callsInFlight(): number {
    let calls = 0;
    for (const connection of this.#connections.keys()) calls += connection.callsInFlight;
    return calls;
  }

  /** Bytes of incomplete messages and unsent output, over all connections. */
  get heldBytes(): number {
    return this.#deps.budget.usedBytes;
  }

  /**
   * Serves a socket that is connected; its owner handles its "error" event. `refused` is called when
   * the client begins with HTTP/1, or with something that is no HTTP at all, such as TLS. `methods`
   * are those of this connection, where they depend on its client.
   */
  accept(
    socket: Socket,
    refused: (preface: "http1" | "foreign") => void = () => {},
    methods: Methods = this.#deps.methods,
  ): void {
    const { limits, turn } = this.#deps;
    const maxAgeMs = connectionAgeMs(limits.connectionAgeMs, this.#random());
    const isAsync = socket instanceof TLSSocket;
    const sink = new SocketSink(socket, { isAsync, sent: () => connection.sent(), refused });
    const deps = methods === this.#deps.methods ? this.#deps : { ...this.#deps, methods };
    const connection = new Connection(deps, sink, turn.monotonicMs(), maxAgeMs);
    this.#connections.set(connection, socket);
    this.counters.openConnections += 1;
    this.#tickTimer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    socket.on("data", (bytes: Buffer) => connection.receive(bytes));
    socket.once("close", () => this.#remove(connection));
    if (this.#isDraining) connection.drain();
  }

  /** Closes every connection gracefully; resolves when the calls are answered and all are closed. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const connection of this.#connections.keys()) connection.drain();
    if (this.#connections.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty.push(resolve);
    await promise;
  }

  /** Open connections that `shed` closes gracefully. */
  get shedConnections(): number {
    return this.#shed.size;
  }

  /** Closes so many more connections gracefully, the oldest first; the others are served. */
  shed(connections: number): void {
    const total = this.#shed.size + connections;
    for (const connection of this.#connections.keys()) {
      if (this.#shed.size >= total) return;
      if (this.#shed.has(connection)) continue;
      this.#shed.add(connection);
      connection.drain();
    }
  }

  /** Closes every connection immediately. */
  close(): void {
    for (const socket of this.#connections.values()) socket.destroy();
  }

  #remove(connection: Connection): void {
    connection.closed();
    this.#connections.delete(connection);
    this.#shed.delete(connection);
    this.counters.openConnections -= 1;
    if (this.#connections.size > 0) return;
    clearInterval(this.#tickTimer);
    this.#tickTimer = undefined;
    for (const resolve of this.#onEmpty) resolve();
    this.#onEmpty = [];
  }

  #tick(): void {
    const nowMs = this.#deps.turn.monotonicMs();
    for (const connection of this.#connections.keys()) connection.tick(nowMs);
  }

  /** Deadlines need a timer only while there are some. */
  #startDeadlines(): void {
    this.#deadlineTimer ??= setInterval(() => {
      const { deadlines, turn } = this.#deps;
      deadlines.advance(turn.monotonicMs());
      if (deadlines.count > 0) return;
      clearInterval(this.#deadlineTimer);
      this.#deadlineTimer = undefined;
    }, DEADLINE_TICK_MS).unref();
  }
}
