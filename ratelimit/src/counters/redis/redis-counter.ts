// The Redis backend: INCRBY and EXPIRE as in envoyproxy/ratelimit, so that both can share a
// store. Counters of the unit SECOND may be in a deployment of their own.
import type { TurnEnd } from "@weir/common/turn/turn-end";
import type { CountBatch, Counter } from "../counter.ts";
import { countUnscripted } from "./batch/unscripted-cell.ts";
import type { CreateDeployment, Deployment, DeploymentDeps } from "./deployment.ts";
import type { RedisCounterOptions } from "./options.ts";
import { probeCells } from "./script-probe.ts";

/** Length of the windows that go to the per-second deployment. */
const SECOND = 1;

/**
 * The dependencies of the backend. `connections` receives the smaller number of working connections of
 * the two deployments, at each change.
 */
export interface RedisCounterDeps extends DeploymentDeps {
  /** Makes the deployment of the type that the options name. */
  readonly createDeployment: CreateDeployment;
}

/**
 * Creates the backend; nothing is connected before `start`. Fails with STORE_ADDRESS_INVALID when
 * an address cannot be read.
 */
export function createRedisCounter(deps: RedisCounterDeps, options: RedisCounterOptions): Counter {
  const { createDeployment, ...shared } = deps;
  const active = { main: 0, perSecond: options.perSecond === undefined ? Infinity : 0 };
  const report = (count: Partial<typeof active>): void => {
    Object.assign(active, count);
    shared.connections(Math.min(active.main, active.perSecond));
  };
  const main = createDeployment(
    { ...shared, connections: (count) => report({ main: count }) },
    { server: options.main, counter: options, urlSetting: "KVSTORE_URL", scope: "redis_pool" },
  );
  const perSecond =
    options.perSecond &&
    createDeployment(
      { ...shared, connections: (count) => report({ perSecond: count }) },
      {
        server: options.perSecond,
        counter: options,
        urlSetting: "KVSTORE_PERSECOND_URL",
        scope: "redis_per_second_pool",
      },
    );
  return new RedisCounter(main, perSecond, deps.turn, options);
}

class RedisCounter implements Counter {
  readonly name = "Redis counters";
  readonly errorType = "redis_error";
  readonly #main: Deployment;
  readonly #perSecond: Deployment | undefined;
  readonly #turn: TurnEnd;
  readonly #monotonicMs: () => number;
  readonly #maxElapsedMs: number;
  /** True if scripts are used: they give hits back, and count in cells. */
  readonly givesBack: boolean;

  constructor(
    main: Deployment,
    perSecond: Deployment | undefined,
    turn: TurnEnd,
    { startup, usesScripts }: RedisCounterOptions,
  ) {
    this.#main = main;
    this.#perSecond = perSecond;
    this.#turn = turn;
    this.#monotonicMs = () => turn.monotonicMs();
    this.#maxElapsedMs = startup.maxElapsedMs;
    this.givesBack = usesScripts;
  }

  async start(): Promise<void> {
    // The per-second deployment first, as in envoyproxy/ratelimit.
    await this.#perSecond?.start(this.#maxElapsedMs);
    try {
      await this.#main.start(this.#maxElapsedMs);
    } catch (error) {
      this.#perSecond?.close();
      throw error;
    }
  }

  stop(): void {
    this.#perSecond?.close();
    this.#main.close();
  }

  cellsProblem(): Promise<string | undefined> {
    return probeCells(this, this.#turn.nowMs());
  }

  count(batch: CountBatch): void {
    const nowMs = this.#turn.monotonicMs();
    if (!this.#accept(batch, nowMs)) return;
    for (const check of batch.checks) {
      if (batch.pending <= 0) return; // A deployment has failed the call: nothing more of it is counted.
      const deployment = this.#deploymentOf(check.windowSeconds);
      if (this.givesBack || check.cell === undefined) deployment.add(check, batch, nowMs);
      else countUnscripted(deployment, check, { batch, isRead: false, monotonicMs: this.#monotonicMs });
    }
  }

  read(batch: CountBatch): void {
    const nowMs = this.#turn.monotonicMs();
    if (!this.#accept(batch, nowMs)) return;
    for (const check of batch.checks) {
      if (batch.pending <= 0) return;
      const deployment = this.#deploymentOf(check.windowSeconds);
      if (this.givesBack || check.cell === undefined) deployment.read(check, batch, nowMs);
      else countUnscripted(deployment, check, { batch, isRead: true, monotonicMs: this.#monotonicMs });
    }
  }

  /** Fails a call of which a check cannot even wait; otherwise all its checks are pending. */
  #accept(batch: CountBatch, nowMs: number): boolean {
    const { checks } = batch;
    for (const check of checks) {
      if (check.cell !== undefined && !this.givesBack) continue; // Counted in other keys, which ask themselves.
      const refusal = this.#deploymentOf(check.windowSeconds).refusal(nowMs, check.key);
      if (refusal === undefined) continue;
      batch.failed(refusal);
      return false;
    }
    batch.pending = checks.length;
    return true;
  }

  #deploymentOf(windowSeconds: number): Deployment {
    return windowSeconds === SECOND ? (this.#perSecond ?? this.#main) : this.#main;
  }
}
