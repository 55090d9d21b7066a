// Keeps the map of slots up to date: asks for the topology regularly and after changes, and applies
// the answers.
import type { Log } from "@weir/common/log/log";
import { StoreError } from "../../store-error.ts";
import type { RedisCounterOptions, RedisServerOptions } from "../options.ts";
import { connectionError } from "../store-errors.ts";
import { RefreshSchedule } from "../topology/refresh-schedule.ts";
import type { ClusterNode, ClusterNodes } from "./cluster-nodes.ts";
import type { Seeds } from "./seeds.ts";
import type { SlotMap } from "./slot-map.ts";
import type { SlotRange } from "./topology.ts";
import { TopologySource } from "./topology-source.ts";

/** When a node is asked for the topology, in milliseconds: a bound on the load of the cluster. */
const TIMING = { regularMs: 5_000, degradedMs: 1_000, soonMs: 250 };

export interface TopologyRefreshDeps {
  readonly log: Log;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly seeds: Seeds;
  /** Nodes and their slots, as far as known: both are updated. */
  readonly nodes: ClusterNodes;
  readonly map: SlotMap<ClusterNode>;
  /** Called when other nodes own slots. */
  readonly changed: () => void;
}

/** The refreshes of one cluster; none before `start`. */
export class TopologyRefresh {
  readonly #deps: TopologyRefreshDeps;
  readonly #source: TopologySource;
  readonly #schedule: RefreshSchedule;
  #trouble: StoreError | undefined;
  #isStarting = true;
  #isClosed = false;

  constructor(
    deps: TopologyRefreshDeps,
    options: { readonly server: RedisServerOptions; readonly startup: RedisCounterOptions["startup"] },
  ) {
    this.#deps = deps;
    this.#source = new TopologySource(deps.seeds, options.server);
    this.#schedule = new RefreshSchedule(
      {
        refresh: () => this.#learn(),
        isDegraded: () => this.#isDegraded(),
        startup: options.startup,
        random: deps.random,
      },
      TIMING,
    );
  }

  /** Why the last question failed, or during the start why a node could not be reached. */
  get trouble(): StoreError | undefined {
    return this.#trouble;
  }

  /** Asks for the first time, immediately. */
  start(): void {
    this.#schedule.start();
  }

  /** Asks soon, because the answer may have changed. */
  soon(): void {
    this.#schedule.soon();
  }

  /** The deployment has started, with or without an error. */
  started(): void {
    this.#isStarting = false;
    this.#trouble = undefined; // Some nodes may be silent; calls that need them report it.
  }

  /** A node cannot be reached. */
  nodeFailed(error: StoreError): void {
    if (this.#isStarting) this.#trouble = error;
  }

  /** Asks no more. */
  close(): void {
    this.#isClosed = true;
    this.#schedule.close();
    this.#source.close();
  }

  async #learn(): Promise<boolean> {
    const { log, seeds, nodes } = this.#deps;
    try {
      this.#apply(await this.#source.ask(nodes.connected()));
      this.#trouble = undefined;
      return true;
    } catch (cause) {
      if (this.#isClosed) return false;
      const error = cause instanceof StoreError ? cause : connectionError(seeds.text, cause);
      if (this.#trouble === undefined || this.#isStarting) {
        log.warn("Cannot read the cluster topology, trying again", { address: seeds.text, error });
      }
      this.#trouble = error;
      return false;
    }
  }

  #apply(ranges: readonly SlotRange[]): void {
    if (this.#isClosed) return;
    const { log, nodes, map, changed } = this.#deps;
    const before = map.nodes();
    const owned = ranges.flatMap(({ first, last, endpoint }) => {
      const node = nodes.at(endpoint);
      return node === undefined ? [] : [{ first, last, node }];
    });
    map.replace(owned);
    nodes.retire();
    const now = map.nodes();
    if (now.size === before.size && [...now].every((node) => before.has(node))) return;
    changed();
    log.info("Cluster nodes have changed", { nodes: Array.from(now, ({ server }) => server.address.text) });
  }

  #isDegraded(): boolean {
    const { map } = this.#deps;
    return !map.isComplete || [...map.nodes()].some(({ server }) => !server.isReady);
  }
}
