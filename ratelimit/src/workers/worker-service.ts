// The parts of a worker: everything between a gRPC connection and the counter store.
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";
import { TurnEnd } from "@weir/common/turn/turn-end";
import type { RateLimitConfigModel } from "@weir/limits/model/model";

import { type CountedRules, countedRulesSteps, dropStatisticsSteps } from "../config/counted-rules.ts";
import { timeSlicedLoad } from "../config/time-sliced-load.ts";
import type { Counter } from "../counters/counter.ts";
import { createLocalCache } from "../decide/local-cache/local-cache.ts";
import { RuleDecider } from "../decide/rule-decider.ts";
import { Health } from "../health/health.ts";
import type { RuleKeyCounts } from "../observe/rule-keys.ts";
import type { RuleName } from "../observe/rule-name.ts";
import type { TopKeys } from "../observe/top-keys.ts";
import { createTopKeys } from "../startup/observation.ts";
import type { Settings } from "../settings.ts";
import { createCounterBackend } from "../startup/counter-backend.ts";
import { openGrpcTls } from "../startup/grpc-tls.ts";
import { ReloadedFiles } from "../startup/reloaded-files.ts";
import { NodeStatistics } from "../statistics/node-statistics.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { GrpcTransport } from "../transport/grpc/grpc-transport.ts";
import type { SetChange } from "./messages.ts";

export interface WorkerServiceDeps {
  readonly tracing: Tracing;
  /** Receives whether there is a connection to the store. */
  readonly reportStore: (isConnected: boolean) => void;
  readonly log: Log;
}

/** The parts. */
export class WorkerService {
  readonly store: StatisticsStore;
  readonly transport: GrpcTransport;
  readonly #counter: Counter;
  readonly #files: ReloadedFiles;
  readonly #health: Health;
  readonly #node: NodeStatistics;
  readonly #rules: { current: CountedRules | undefined };
  readonly #topKeys: TopKeys | undefined;
  /** The configurations of the set that was sent last, by their numbers. */
  readonly #configs = new Map<number, RateLimitConfigModel>();

  /** Creates the parts. `settings` are the worker's share. */
  static async create(deps: WorkerServiceDeps, settings: Settings): Promise<WorkerService> {
    const { tracing, reportStore, log } = deps;
    const turn = new TurnEnd();
    const monotonicMs = (): number => turn.monotonicMs();
    const files = new ReloadedFiles({ log });
    const store = new StatisticsStore(settings.statistics);
    const statistics = new ServiceStatistics(store);
    const health = new Health({ withConfig: false, withActiveConnection: false });
    const rules: { current: CountedRules | undefined } = { current: undefined };
    const counter = await createCounterBackend(settings, {
      ...{ store, statistics, files, tracing, turn, log },
      health: {
        set: (component, isHealthy) => {
          if (component === "cache") reportStore(isHealthy);
        },
      },
    });
    const sizeBytes = settings.decide.localCacheSizeBytes;
    const localCache = createLocalCache({ statistics: store, monotonicMs, log }, { sizeBytes });
    const topKeys = createTopKeys(settings, () => rules.current);
    const clock = (): number => turn.nowMs();
    const decider = new RuleDecider(
      { rules: () => rules.current, counter, statistics, localCache, topKeys, clock, monotonicMs, log },
      settings.decide,
    );
    const { grpc } = settings.server;
    // The service itself reports invalid files when it starts.
    const grpcTls = grpc.tls && openGrpcTls(grpc.tls, files);
    const transport = new GrpcTransport(
      { decider, tracing, health, statistics, store, turn, log },
      { ...grpc, tls: grpcTls, request: settings.decide },
    );
    return new WorkerService({ store, transport, counter, files, health, rules, topKeys });
  }

  private constructor(parts: {
    readonly store: StatisticsStore;
    readonly transport: GrpcTransport;
    readonly counter: Counter;
    readonly files: ReloadedFiles;
    readonly health: Health;
    readonly rules: { current: CountedRules | undefined };
    readonly topKeys: TopKeys | undefined;
  }) {
    this.store = parts.store;
    this.transport = parts.transport;
    this.#counter = parts.counter;
    this.#files = parts.files;
    this.#health = parts.health;
    this.#rules = parts.rules;
    this.#topKeys = parts.topKeys;
    this.#node = new NodeStatistics({ store: parts.store, nowMs: () => performance.now() });
  }

  /** Resolves when it can count. */
  async start(): Promise<void> {
    this.#node.start();
    for (const file of this.#files.all) file.start();
    await this.#counter.start?.();
  }

  /** Closes the connections and ends everything. */
  async stop(): Promise<void> {
    await this.transport.stop();
    await this.#counter.stop?.();
    for (const file of this.#files.all) file.stop();
    this.#node.stop();
  }

  /** Makes a set of rules active that the service has validated; resolves then. One at a time. */
  async load({ order, added }: SetChange): Promise<void> {
    for (const [number, config] of added) this.#configs.set(number, config);
    const configs = order.map((number) => this.#configs.get(number)).filter((config) => config !== undefined);
    const wanted = new Set(order);
    for (const number of this.#configs.keys()) if (!wanted.has(number)) this.#configs.delete(number);
    const before = this.#rules.current;
    const rules = await timeSlicedLoad(countedRulesSteps(configs, this.store, before));
    this.#rules.current = rules;
    await timeSlicedLoad(dropStatisticsSteps(this.store, before, rules));
  }

  /** The keys of those of the rules that have any. */
  readKeys(names: readonly RuleName[]): readonly RuleKeyCounts[] {
    return this.#topKeys?.read(names, Math.floor(Date.now() / 1000)) ?? [];
  }

  /** Replaces the health that callers see: that of the whole service. */
  setHealth(isHealthy: boolean): void {
    this.#health.set("start", isHealthy);
  }

  /** Reads certificates and secrets again. */
  reload(): void {
    for (const file of this.#files.all) file.reload();
  }
}
