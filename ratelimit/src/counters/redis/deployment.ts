// The interface of deployment types: one server, a primary that sentinels name, or the nodes of a
// cluster.
import type { Log } from "@weir/common/log/log";
import type { TurnEnd } from "@weir/common/turn/turn-end";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { CountBatch, CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import type { RedisCounterOptions, RedisServerOptions } from "./options.ts";

/**
 * A place for counters: one server, or several that act as one. Times are of a clock that only goes
 * forward, in milliseconds.
 */
export interface Deployment {
  /**
   * Waits until it can count, at most `maxElapsedMs` if that is above 0. Fails with
   * STORE_UNAVAILABLE, and is closed then.
   */
  start(maxElapsedMs: number): Promise<void>;
  /** Fails what is waiting and closes all connections. */
  close(): void;
  /** Why a check of this key cannot even wait; asked before any check of its call is added. */
  refusal(nowMs: number, key: string): StoreError | undefined;
  /**
   * Adds one check of a call to increment; the batch knows the number of pending checks. Answers it
   * in time, even if the store does not.
   */
  add(check: CountedCheck, batch: CountBatch, nowMs: number): void;
  /**
   * The same for a check that only reads: `after` becomes what is stored, 0 when there is nothing.
   */
  read(check: CountedCheck, batch: CountBatch, nowMs: number): void;
}

export interface DeploymentDeps {
  readonly log: Log;
  readonly statistics: StatisticsStore;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** The end of the event-loop turn, at which commands are written. */
  readonly turn: TurnEnd;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Receives the number of working connections at each change. */
  readonly connections: (active: number) => void;
  /**
   * True if cells are counted by the time of the calls, not by the clock of the store: for tests in virtual time.
   * Default false.
   */
  readonly usesOwnClock?: boolean;
}

/** Options of one of the two deployments. */
export interface DeploymentOptions {
  readonly server: RedisServerOptions;
  readonly counter: RedisCounterOptions;
  /** The setting that holds its address, for messages. */
  readonly urlSetting: "KVSTORE_URL" | "KVSTORE_PERSECOND_URL";
  /** Scope of its statistics: ratelimit.<scope>.cx_active and so on. */
  readonly scope: "redis_pool" | "redis_per_second_pool";
}

/**
 * Makes a deployment; nothing is connected before `start`. Fails with STORE_ADDRESS_INVALID when
 * the address cannot be read.
 */
export type CreateDeployment = (deps: DeploymentDeps, options: DeploymentOptions) => Deployment;
