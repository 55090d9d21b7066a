// One server with its pool of links: gathers the increments of each event-loop turn, writes them to a link that is ready, and sees to it that every call
// is answered in time, whatever the server does.
import type { Log } from "@weir/common/log/log";
import { silenceError } from "../../connection-errors.ts";
import type { StatisticsStore } from "../../../statistics/statistics-store.ts";
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { StoreError } from "../../store-error.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "../options.ts";
import type { KvstoreAddress } from "./address.ts";
import { ExpiryMemory } from "./expiry-memory.ts";
import type { Link, LinkListener } from "./link.ts";
import { LinkPool } from "./link-pool.ts";
import { connectionError, replyError } from "./store-errors.ts";
import { type KeyExpiry, type Reply, Turn, type TurnContext } from "./turn.ts";

/** Most checks that wait for a connection at a time; each holds a call of some hundred bytes. */
const WAITING_MAX_CHECKS = 100_000;

/** What a server works with. */
export interface ServerDeps {
  readonly log: Log;
  readonly statistics: StatisticsStore;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Hears the number of connections that work, at each change. */
  readonly connections: (active: number) => void;
}

/** What is particular to this server. */
export interface ServerOptions {
  readonly address: KvstoreAddress;
  readonly server: KvstoreServerOptions;
  readonly counter: KvstoreCounterOptions;
  /** Scope of the pool's statistics: ratelimit.<scope>.cx_active and so on. */
  readonly scope: string;
}

/** A turn that was written and has no replies yet. */
interface Flight {
  readonly turn: Turn;
  readonly link: Link;
}

/** A server and everything on its way to it. */
export class KvstoreServer implements LinkListener {
  readonly #deps: ServerDeps;
  readonly #text: string;
  readonly #timeoutMs: number;
  readonly #pool: LinkPool;
  readonly #context: TurnContext;
  /** The turn that gathers increments right now. */
  #open: Turn | undefined;
  /** Turns that are over and wait for a link, oldest first. */
  #waiting: Turn[] = [];
  #waitingChecks = 0;
  readonly #flights = new Set<Flight>();
  /** Keys whose expiry goes with the next turn. */
  #expiries: KeyExpiry[] = [];
  #isFlushScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  /** The moment the timer is set for, in milliseconds since the epoch. */
  #timerMs = Infinity;
  /** When the last link was lost, and why; undefined while one is ready. */
  #down: { readonly sinceMs: number; readonly cause: unknown } | undefined;
  #isClosed = false;
  /** Ends the wait of `start`. */
  #started: { resolve(): void; reject(error: StoreError): void } | undefined;
  readonly #flush = (): void => this.#endTurn();

  constructor(deps: ServerDeps, options: ServerOptions) {
    const { address, server, counter, scope } = options;
    this.#deps = deps;
    this.#text = address.text;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#down = { sinceMs: -Infinity, cause: new Error("not connected yet") };
    const { random } = deps;
    this.#pool = new LinkPool({ ...deps, listener: this }, { address, server, startup: counter.startup, scope });
    const jitterSeconds = counter.expiryJitterMaxSeconds;
    this.#context = {
      expiries: new ExpiryMemory(),
      expirySeconds: (windowSeconds) => windowSeconds + Math.floor(random() * jitterSeconds),
      replyError: (cause) => replyError(address.text, cause),
    };
  }

  /** Waits for the first connection; with `maxElapsedMs` above 0 not longer than that. The other links open in the background. */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw this.#stoppingError();
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#started = { resolve, reject };
        if (maxElapsedMs > 0) timer = setTimeout(() => reject(this.#startError(maxElapsedMs)), maxElapsedMs);
        this.#pool.openFirst();
      });
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#started = undefined;
    }
    this.#pool.openAll();
  }

  /** Fails what is waiting and closes all links. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timerMs = Infinity;
    const error = this.#stoppingError();
    this.#down = { sinceMs: -Infinity, cause: error };
    this.#started?.reject(error);
    for (const turn of this.#turns()) turn.fail(error, this.#context);
    this.#open = undefined;
    this.#waiting = [];
    this.#waitingChecks = 0;
    this.#flights.clear();
    this.#pool.close();
  }

  /**
   * Why a call cannot even wait: the server has been away for longer than a call may take, or too many wait already. A short absence is bridged: calls
   * wait for the connection as long as they would for an answer.
   */
  refusal(nowMs: number): StoreError | undefined {
    if (this.#down === undefined) return undefined;
    if (nowMs - this.#down.sinceMs >= this.#timeoutMs) return connectionError(this.#text, this.#down.cause);
    if (this.#waitingChecks < WAITING_MAX_CHECKS) return undefined;
    return connectionError(this.#text, new Error(`${WAITING_MAX_CHECKS} increments wait for a connection`));
  }

  /** Takes one check of a call; its batch has been told how many checks are pending. */
  add(check: CountedCheck, batch: CountBatch, nowMs: number): void {
    const turn = (this.#open ??= new Turn(nowMs, this.#timeoutMs));
    turn.add(check, batch);
    this.#scheduleFlush();
    if (turn.nextDeadlineMs < this.#timerMs) this.#setTimer(turn.nextDeadlineMs);
  }

  linkReady(): void {
    if (this.#down !== undefined) this.#deps.log.info("Connected to the counter store", { address: this.#text });
    this.#down = undefined;
    this.#pool.noteReady();
    this.#started?.resolve();
    this.#send();
  }

  linkLost(link: Link, cause: unknown): void {
    const error = connectionError(this.#text, cause);
    for (const flight of this.#flights) {
      if (flight.link !== link) continue;
      this.#flights.delete(flight);
      flight.turn.fail(error, this.#context);
    }
    if (!this.#pool.isReady) {
      this.#down = { sinceMs: this.#deps.clock(), cause };
      this.#deps.log.warn("Lost the connection to the counter store", { address: this.#text, error: cause });
    }
    this.#pool.noteLost();
  }

  linkFailed(_link: Link, cause: unknown, waitMs: number): void {
    if (this.#down === undefined) return; // The others work; this one tries on.
    this.#down = { sinceMs: this.#down.sinceMs, cause };
    this.#deps.log.warn("Cannot reach the counter store, trying again", { address: this.#text, error: cause, waitMs: Math.round(waitMs) });
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  #endTurn(): void {
    this.#isFlushScheduled = false;
    if (this.#open !== undefined) {
      this.#waiting.push(this.#open);
      this.#waitingChecks += this.#open.size;
      this.#open = undefined;
    }
    this.#send();
  }

  /** Writes what waits, if a link is ready. */
  #send(): void {
    const link = this.#pool.pick();
    if (link === undefined) return;
    for (const turn of this.#waiting) this.#write(link, turn);
    this.#waiting = [];
    this.#waitingChecks = 0;
    if (this.#expiries.length > 0) this.#write(link, undefined);
  }

  #write(link: Link, turn: Turn | undefined): void {
    const expiries = this.#expiries;
    this.#expiries = [];
    const flight = turn === undefined ? undefined : { turn, link };
    if (flight !== undefined) this.#flights.add(flight);
    link.write(
      (sink) => {
        for (const { key, seconds } of expiries) sink.expire(key, seconds);
        turn?.write(sink, this.#context);
      },
      (replies) => {
        expiries.forEach(({ key }, index) => {
          if (replies[index]?.[0] !== null) this.#context.expiries.delete(key);
        });
        if (flight !== undefined) this.#land(flight, replies.slice(expiries.length));
      },
    );
  }

  #land(flight: Flight, replies: readonly Reply[]): void {
    if (!this.#flights.delete(flight)) return; // Given up before.
    const lost = flight.turn.settle(replies, this.#context);
    if (lost.length === 0) return;
    this.#expiries.push(...lost);
    this.#scheduleFlush();
  }

  #setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => this.#giveUp(), Math.max(0, atMs - this.#deps.clock()));
  }

  /** Answers the calls whose time is up, ends connections that are silent, and sets the timer anew. */
  #giveUp(): void {
    const nowMs = this.#deps.clock();
    // A clock that stepped back says nothing about how long a turn has waited; the timer does: nobody waits for the clock to catch up.
    const isLate = (turn: Turn): boolean => nowMs >= turn.createdMs + this.#timeoutMs || nowMs < turn.createdMs;
    for (const flight of this.#flights) {
      if (!isLate(flight.turn)) continue;
      const error = silenceError(this.#text, this.#timeoutMs);
      this.#flights.delete(flight);
      flight.turn.fail(error, this.#context);
      // Its replies would come in the way of later ones; and a server that hangs is best left to a new connection.
      this.#pool.reset(flight.link, error);
    }
    for (const turn of this.#waiting) {
      if (isLate(turn)) turn.fail(connectionError(this.#text, this.#down?.cause), this.#context);
    }
    this.#waiting = this.#waiting.filter((turn) => !isLate(turn));
    this.#waitingChecks = this.#waiting.reduce((sum, turn) => sum + turn.size, 0);
    let next = Infinity;
    for (const turn of this.#turns()) {
      turn.failImpatient(nowMs, this.#timeoutMs, this.#text);
      if (turn.nextDeadlineMs < next) next = turn.nextDeadlineMs;
    }
    this.#timerMs = Infinity;
    if (next !== Infinity) this.#setTimer(next);
  }

  *#turns(): Generator<Turn> {
    if (this.#open !== undefined) yield this.#open;
    yield* this.#waiting;
    for (const { turn } of this.#flights) yield turn;
  }

  #stoppingError(): StoreError {
    return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${this.#text}: the backend is stopping`, { transient: true });
  }

  #startError(maxElapsedMs: number): StoreError {
    const error = connectionError(this.#text, this.#down?.cause);
    const message = `Timed out waiting for the counter store ${this.#text} after ${maxElapsedMs} ms: ${error.message}`;
    return new StoreError("STORE_UNAVAILABLE", message, { cause: error.cause, transient: true });
  }
}
