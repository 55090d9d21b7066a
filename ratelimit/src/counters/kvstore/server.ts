// One server with its pool of links: gathers the increments of each event-loop turn, writes them to a link that is ready, and sees to it that every call
// is answered in time, whatever the server does. Alone it is a deployment; deployments of several servers have one per address, and hear of what the
// server refused and of its connections through `ServerEvents`.
import type { Log } from "@weir/common/log/log";
import { silenceError } from "../connection-errors.ts";
import type { CountBatch, CountedCheck } from "../counter.ts";
import { StoreError } from "../store-error.ts";
import type { KvstoreAddress } from "./address.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "./deployment.ts";
import { ExpiryMemory } from "./expiry-memory.ts";
import type { Link, LinkListener } from "./link.ts";
import { LinkPool } from "./link-pool.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "./options.ts";
import { PoolStatistics } from "./pool-statistics.ts";
import { StartWait } from "./start-wait.ts";
import { connectionError, replyError } from "./store-errors.ts";
import { type KeyExpiry, type RefusedChecks, type Reply, Turn, type TurnContext } from "./turn.ts";

/** Most checks that wait for a connection at a time; each holds a call of some hundred bytes. */
const WAITING_MAX_CHECKS = 100_000;

/** What a server works with; all servers of a deployment share it. */
export interface ServerDeps {
  readonly log: Log;
  readonly clock: () => number;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
  /** The keys whose expiry was sent, to whatever server. */
  readonly expiries: ExpiryMemory;
}

/** What is particular to this server. */
export interface ServerOptions {
  readonly address: KvstoreAddress;
  readonly server: KvstoreServerOptions;
  readonly counter: KvstoreCounterOptions;
  /** Whether connections to a server that says it is a replica are refused. Default false. */
  readonly wantsPrimary?: boolean;
}

/**
 * What a server tells the deployment that it is a part of. Everything is called from the event loop, never from inside a call to the server, except
 * `serverLost`, which also comes from inside `moveTo`.
 */
export interface ServerEvents {
  /**
   * Whether a reply says that its command was not carried out and may be sent again, here later or elsewhere: MOVED, ASK, TRYAGAIN, CLUSTERDOWN,
   * LOADING, READONLY, as the deployment can make use of. For such replies `refused` or `expiryMissing` comes; others fail their calls.
   */
  isRefusal(error: Error): boolean;
  /**
   * Checks without an answer, which belong to the deployment now. It brings each of them, by `Turn.adopt`, into a turn that has the same `createdMs`,
   * for its calls have waited since then, and gives that turn to `resend` of a server; or it fails them with `failChecks`.
   */
  refused(server: KvstoreServer, checks: readonly RefusedChecks[], createdMs: number): void;
  /** A key has no expiry: the server had lost the key, or refused EXPIRE though not INCRBY. `sendExpiry` of a server sends it again. */
  expiryMissing(server: KvstoreServer, expiry: KeyExpiry): void;
  /** A connection works now. */
  serverReady(server: KvstoreServer): void;
  /** A connection that worked is gone; `server.isReady` says whether others are left. */
  serverLost(server: KvstoreServer, cause: unknown): void;
  /** A connection could not be made; the next attempt comes by itself. */
  serverFailed(server: KvstoreServer, cause: unknown): void;
}

/** What the servers of a deployment share. */
export function shareAmongServers(deps: DeploymentDeps, { scope }: Pick<DeploymentOptions, "scope">): ServerDeps {
  const { log, clock, random } = deps;
  return { log, clock, random, statistics: new PoolStatistics(deps, scope), expiries: new ExpiryMemory() };
}

/** A turn that was written and has no replies yet. */
interface Flight {
  readonly turn: Turn;
  readonly link: Link;
  /** In milliseconds since the epoch. */
  readonly writtenMs: number;
}

/** A server and everything on its way to it. */
export class KvstoreServer implements Deployment, LinkListener {
  readonly #deps: ServerDeps;
  readonly #events: ServerEvents | undefined;
  #address: KvstoreAddress;
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
  readonly #startWait = new StartWait();
  readonly #flush = (): void => this.#endTurn();

  constructor(deps: ServerDeps, options: ServerOptions, events?: ServerEvents) {
    const { address, server, counter, wantsPrimary = false } = options;
    this.#deps = deps;
    this.#events = events;
    this.#address = address;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#down = { sinceMs: -Infinity, cause: new Error("not connected yet") };
    const { random, statistics, expiries } = deps;
    const target = (): KvstoreAddress => this.#address;
    this.#pool = new LinkPool({ target, listener: this, random, statistics }, { server, startup: counter.startup, wantsPrimary });
    const jitterSeconds = counter.expiryJitterMaxSeconds;
    this.#context = {
      expiries,
      expirySeconds: (windowSeconds) => windowSeconds + Math.floor(random() * jitterSeconds),
      replyError: (cause) => replyError(this.#address.text, cause),
      ...(events !== undefined && { isRefusal: (error: Error) => events.isRefusal(error) }),
    };
  }

  /** Where it is. */
  get address(): KvstoreAddress {
    return this.#address;
  }

  /** Whether a connection works. */
  get isReady(): boolean {
    return this.#pool.isReady;
  }

  /** Begins to connect, without waiting for it; calls wait for the connection from now on, as in a short absence. */
  open(): void {
    if (this.#isClosed) return;
    if (this.#down?.sinceMs === -Infinity) this.#down = { sinceMs: this.#deps.clock(), cause: this.#down.cause };
    this.#pool.openAll();
  }

  /** Gives all connections up and makes new ones, to another address. What was written and not answered fails; what waits goes to the new ones. */
  moveTo(address: KvstoreAddress, cause: unknown): void {
    if (this.#isClosed) return;
    this.#pool.hangUp(cause);
    this.#address = address;
    this.#pool.openAll();
  }

  /** Takes a turn of checks that were refused here or elsewhere. Their time runs since its `createdMs`. */
  resend(turn: Turn): void {
    if (this.#isClosed) {
      turn.fail(this.#stoppingError(), this.#context);
      return;
    }
    this.#waiting.push(turn);
    this.#waitingChecks += turn.size;
    this.#scheduleFlush();
    if (turn.nextDeadlineMs < this.#timerMs) this.#setTimer(turn.nextDeadlineMs);
  }

  /** Sends the expiry of a key with the next turn. */
  sendExpiry(expiry: KeyExpiry): void {
    this.#expiries.push(expiry);
    this.#scheduleFlush();
  }

  /** Sends one command outside of all turns, such as CLUSTER SLOTS; fails with STORE_UNAVAILABLE, or STORE_TIMEOUT after the time a call may take. */
  query(command: string, ...args: string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const link = this.#pool.pick();
      if (link === undefined) {
        reject(connectionError(this.#address.text, this.#down?.cause));
        return;
      }
      const timer = setTimeout(() => {
        const error = silenceError(this.#address.text, this.#timeoutMs);
        reject(error);
        this.#pool.reset(link, error);
      }, this.#timeoutMs);
      link.write(
        (sink) => sink.call(command, ...args),
        ([reply]) => {
          clearTimeout(timer);
          const [error, value] = reply ?? [new Error("the reply is missing"), undefined];
          if (error === null) resolve(value);
          else reject(replyError(this.#address.text, error));
        },
      );
    });
  }

  /** Waits for the first connection; with `maxElapsedMs` above 0 not longer than that. The other links open in the background. */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw this.#stoppingError();
    try {
      await this.#startWait.wait(() => this.#pool.openFirst(), {
        maxElapsedMs,
        text: this.#address.text,
        reason: () => connectionError(this.#address.text, this.#down?.cause),
      });
    } catch (error) {
      this.close();
      throw error;
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
    this.#startWait.fail(error);
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
    if (nowMs - this.#down.sinceMs >= this.#timeoutMs) return connectionError(this.#address.text, this.#down.cause);
    if (this.#waitingChecks < WAITING_MAX_CHECKS) return undefined;
    return connectionError(this.#address.text, new Error(`${WAITING_MAX_CHECKS} increments wait for a connection`));
  }

  /** Takes one check of a call; its batch has been told how many checks are pending. */
  add(check: CountedCheck, batch: CountBatch, nowMs: number): void {
    const turn = (this.#open ??= new Turn(nowMs, this.#timeoutMs));
    turn.add(check, batch);
    this.#noteAdded(turn);
  }

  /** The same for a check that only reads. */
  read(check: CountedCheck, batch: CountBatch, nowMs: number): void {
    const turn = (this.#open ??= new Turn(nowMs, this.#timeoutMs));
    turn.read(check, batch);
    this.#noteAdded(turn);
  }

  linkReady(): void {
    if (this.#down !== undefined) this.#deps.log.info("Connected to the counter store", { address: this.#address.text });
    this.#down = undefined;
    this.#pool.noteReady();
    this.#startWait.succeed();
    this.#events?.serverReady(this);
    this.#send();
  }

  linkLost(link: Link, cause: unknown): void {
    const error = connectionError(this.#address.text, cause);
    for (const flight of this.#flights) {
      if (flight.link !== link) continue;
      this.#flights.delete(flight);
      flight.turn.fail(error, this.#context);
    }
    if (!this.#pool.isReady) {
      this.#down = { sinceMs: this.#deps.clock(), cause };
      this.#deps.log.warn("Lost the connection to the counter store", { address: this.#address.text, error: cause });
    }
    this.#pool.noteLost();
    this.#events?.serverLost(this, cause);
  }

  linkFailed(_link: Link, cause: unknown, waitMs: number): void {
    this.#events?.serverFailed(this, cause);
    if (this.#down === undefined) return; // The others work; this one tries on.
    this.#down = { sinceMs: this.#down.sinceMs, cause };
    this.#deps.log.warn("Cannot reach the counter store, trying again", {
      address: this.#address.text,
      error: cause,
      waitMs: Math.round(waitMs),
    });
  }

  #noteAdded(turn: Turn): void {
    this.#scheduleFlush();
    if (turn.nextDeadlineMs < this.#timerMs) this.#setTimer(turn.nextDeadlineMs);
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
    const flight = turn === undefined ? undefined : { turn, link, writtenMs: this.#deps.clock() };
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
    const { expiries, refused } = flight.turn.settle(replies, this.#context);
    if (expiries.length > 0) this.#sendLost(expiries);
    if (refused.length > 0) this.#events?.refused(this, refused, flight.turn.createdMs);
  }

  #sendLost(expiries: readonly KeyExpiry[]): void {
    for (const expiry of expiries) {
      if (this.#events === undefined) this.sendExpiry(expiry);
      else this.#events.expiryMissing(this, expiry);
    }
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
    const isPast = (sinceMs: number): boolean => nowMs >= sinceMs + this.#timeoutMs || nowMs < sinceMs;
    const isLate = (turn: Turn): boolean => isPast(turn.createdMs);
    let next = Infinity;
    for (const flight of this.#flights) {
      if (!isLate(flight.turn)) continue;
      const error = silenceError(this.#address.text, this.#timeoutMs);
      flight.turn.fail(error, this.#context);
      if (isPast(flight.writtenMs)) {
        this.#flights.delete(flight);
        // Its replies would come in the way of later ones; and a server that hangs is best left to a new connection.
        this.#pool.reset(flight.link, error);
      } else {
        // Its calls had waited before it was written; the server has had less time than it may take.
        next = Math.min(next, flight.writtenMs + this.#timeoutMs);
      }
    }
    for (const turn of this.#waiting) {
      if (isLate(turn)) turn.fail(connectionError(this.#address.text, this.#down?.cause), this.#context);
    }
    this.#waiting = this.#waiting.filter((turn) => !isLate(turn));
    this.#waitingChecks = this.#waiting.reduce((sum, turn) => sum + turn.size, 0);
    for (const turn of this.#turns()) {
      if (isLate(turn)) continue;
      turn.failImpatient(nowMs, this.#timeoutMs, this.#address.text);
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
    return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${this.#address.text}: the backend is stopping`, { transient: true });
  }
}
