// The deployment type "cluster": a server per node, and each check sent to the node that owns the
// slot of its key, following redirections. Only commands that a node refused are sent again: never
// twice.
import { ServiceError } from "@weir/common/errors/service-error";
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { type StoreError, stoppingError } from "../../store-error.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import type { KeyExpiry } from "../expiry/expiry-cache.ts";
import { RedisServer } from "../server/server.ts";
import type { ServerEvents } from "../server/server-events.ts";
import { shareAmongServers } from "../server/server-options.ts";
import { StartWait } from "../../start-wait.ts";
import { connectionError } from "../store-errors.ts";
import { CommandBatch, type RefusedChecks } from "../batch/command-batch.ts";
import { KeyChecks } from "../batch/key-checks.ts";
import { type ClusterNode, ClusterNodes } from "./cluster-nodes.ts";
import { GroupedCall } from "./grouped-call.ts";
import { hashSlot } from "./hash-slot.ts";
import { effectiveParallelism } from "./parallelism.ts";
import { RetryQueue } from "./retry-queue.ts";
import { parseRedirection, type Redirection } from "./redirection.ts";
import { hostOf, nodeAddress, parseSeeds, type Seeds } from "./seeds.ts";
import { SlotMap } from "./slot-map.ts";
import { TopologyRefresh } from "./topology-refresh.ts";

/**
 * Waits between attempts to reach a node for the first time, in milliseconds: as for a lost one,
 * because the service may have started long ago.
 */
const NODE_STARTUP = { initialMs: 125, maxMs: 4_000, maxElapsedMs: 0 };

/**
 * How long a node without slots is kept after its last use, in milliseconds: during the migration
 * of a slot it receives single commands.
 */
const NODE_KEEP_MS = 15_000;

/**
 * Redirections of a check that are followed immediately; after that it waits each time, so that
 * nodes which redirect to each other are not kept busy.
 */
const HOPS_MAX = 5;

/** Makes the deployment. Fails with STORE_ADDRESS_INVALID when an address cannot be read. */
export function createClusterDeployment(deps: DeploymentDeps, options: DeploymentOptions): Deployment {
  const parsed = parseSeeds(options.server);
  if (!parsed.ok)
    throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${options.urlSetting}: ${parsed.problem}`);
  return new ClusterDeployment(deps, options, parsed.seeds);
}

class ClusterDeployment implements Deployment, ServerEvents<RedisServer> {
  readonly #text: string;
  readonly #timeoutMs: number;
  readonly #parallelism: number;
  readonly #nodes: ClusterNodes;
  readonly #map = new SlotMap<ClusterNode>();
  readonly #topology: TopologyRefresh;
  readonly #queue: RetryQueue;
  /** Redirections of each check that was redirected. */
  readonly #hops = new WeakMap<CountedCheck, number>();
  /** The call to which checks are being added, if it may need more than one node. */
  #groupedCall: GroupedCall | undefined;
  /**
   * The last key and its slot: the key of a call with one check is looked up twice in a row, and
   * computing the slot is the most expensive part.
   */
  #lastKey = "";
  #lastSlot = 0;
  #closed: StoreError | undefined;
  readonly #startWait = new StartWait();
  readonly #callDeps: ConstructorParameters<typeof GroupedCall>[1];
  readonly #callOptions: ConstructorParameters<typeof GroupedCall>[2];

  constructor(deps: DeploymentDeps, { server, counter, scope }: DeploymentOptions, seeds: Seeds) {
    const { log, monotonicMs, random } = deps;
    this.#text = seeds.text;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#parallelism = effectiveParallelism(server.clusterPipelineParallelism, server.poolSize);
    const shared = shareAmongServers(deps, { scope });
    const nodeOptions = { server, counter: { ...counter, startup: NODE_STARTUP } };
    this.#nodes = new ClusterNodes({
      createServer: (endpoint) =>
        new RedisServer(shared, { ...nodeOptions, address: nodeAddress(seeds, endpoint) }, this),
      monotonicMs,
      // In that time every command to a node is answered or given up.
      keepMs: Math.max(NODE_KEEP_MS, 2 * this.#timeoutMs),
    });
    // A replica that was promoted may have received an increment and not the expiry that followed.
    const changed = (): void => shared.expiries.clear();
    this.#topology = new TopologyRefresh(
      { log, random, seeds, nodes: this.#nodes, map: this.#map, changed },
      { server, startup: counter.startup },
    );
    const limits = { timeoutMs: this.#timeoutMs, text: this.#text };
    this.#queue = new RetryQueue(
      { send: (checks, createdMs) => this.#sendAgain(checks, createdMs), monotonicMs },
      limits,
    );
    this.#callDeps = { send: (check, group, how) => this.#send(check, group, how), monotonicMs };
    this.#callOptions = { ...limits, parallelism: this.#parallelism };
  }

  /**
   * Waits for the map of slots and the first connection, at most `maxElapsedMs` if that is above 0.
   */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#closed !== undefined) throw this.#closed;
    const reason = (): StoreError =>
      this.#topology.trouble ?? connectionError(this.#text, new Error("not connected yet"));
    try {
      await this.#startWait.wait(() => this.#topology.start(), {
        maxElapsedMs,
        store: `the counter store ${this.#text}`,
        reason,
      });
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#topology.started();
    }
  }

  close(): void {
    const error = stoppingError(this.#text);
    this.#closed = error;
    this.#startWait.fail(error);
    this.#topology.close();
    this.#nodes.close();
    this.#queue.close(error);
  }

  refusal(nowMs: number, key: string): StoreError | undefined {
    // A check of a slot without owner waits: see `#send`.
    return this.#closed ?? this.#map.ownerOf(this.#slotOf(key))?.server.refusal(nowMs);
  }

  add(check: CountedCheck, call: CountBatch, nowMs: number): void {
    this.#take(check, call, { isRead: false, nowMs });
  }

  read(check: CountedCheck, call: CountBatch, nowMs: number): void {
    this.#take(check, call, { isRead: true, nowMs });
  }

  isRefusal(error: Error): boolean {
    return parseRedirection(error.message, "") !== undefined;
  }

  refused(server: RedisServer, refused: readonly RefusedChecks[], createdMs: number): void {
    const batches = new Map<string, { readonly node: ClusterNode; readonly batch: CommandBatch }>();
    const later: KeyChecks[] = [];
    for (const { checks, error } of refused) {
      const redirection = parseRedirection(error.message, hostOf(server.address)) ?? { kind: "later" };
      const node = this.#nodeFor(redirection, checks.key);
      if (node === undefined || redirection.kind === "later" || this.#hop(checks) > HOPS_MAX) {
        later.push(checks);
        continue;
      }
      const isAsking = redirection.kind === "ask";
      const name = `${redirection.kind} ${node.server.address.text}`;
      const present = batches.get(name) ?? { node, batch: new CommandBatch(createdMs, this.#timeoutMs, { isAsking }) };
      batches.set(name, present);
      present.batch.adopt(checks);
    }
    const [first] = refused;
    if (later.length > 0 && first !== undefined) this.#queue.add(later, createdMs, first.error);
    for (const { node, batch } of batches.values()) node.server.resend(batch);
  }

  expiryMissing(server: RedisServer, expiry: KeyExpiry): void {
    const { key, refusal } = expiry;
    // The key moved between the two commands: its expiry follows it.
    const redirection = refusal && parseRedirection(refusal.message, hostOf(server.address));
    const named = redirection && this.#nodeFor(redirection, key);
    // If the slot has no owner, the next increment of the key sends the expiry.
    const node = named ?? this.#map.ownerOf(hashSlot(key));
    node?.server.sendExpiry(expiry, named !== undefined && redirection?.kind === "ask");
  }

  serverReady(): void {
    this.#startWait.succeed();
  }

  serverLost(server: RedisServer): void {
    if (!server.isReady) this.#topology.soon();
  }

  serverFailed(server: RedisServer, cause: unknown): void {
    this.#topology.nodeFailed(connectionError(server.address.text, cause));
  }

  #take(check: CountedCheck, call: CountBatch, how: { readonly isRead: boolean; readonly nowMs: number }): void {
    const { isRead, nowMs } = how;
    // All groups may be in flight together, so their order does not matter.
    if (call.checks.length === 1 || this.#parallelism >= this.#nodes.size) {
      this.#send(check, call, how);
      return;
    }
    let grouped = this.#groupedCall;
    if (grouped?.batch !== call || grouped.isRead !== isRead || grouped.isOver) {
      grouped = new GroupedCall({ batch: call, isRead, createdMs: nowMs }, this.#callDeps, this.#callOptions);
      this.#groupedCall = grouped;
    }
    grouped.add(check, this.#map.ownerOf(this.#slotOf(check.key)));
  }

  /** Sends a check to the node that owns its slot; if there is none, the check waits for one. */
  #send(
    check: CountedCheck,
    call: CountBatch,
    { isRead, nowMs }: { readonly isRead: boolean; readonly nowMs: number },
  ): void {
    const slot = this.#slotOf(check.key);
    const node = this.#map.ownerOf(slot);
    if (node === undefined) {
      this.#retryLater([new KeyChecks(check, call, isRead)], nowMs, slot);
    } else if (isRead) {
      node.server.read(check, call, nowMs);
    } else {
      node.server.add(check, call, nowMs);
    }
  }

  /** Sends checks that have waited, each to the node that owns its slot now. */
  #sendAgain(checks: readonly KeyChecks[], createdMs: number): void {
    const batches = new Map<ClusterNode, CommandBatch>();
    for (const each of checks) {
      const slot = hashSlot(each.key);
      const node = this.#map.ownerOf(slot);
      if (node === undefined) {
        this.#retryLater([each], createdMs, slot);
        continue;
      }
      batches.getOrInsertComputed(node, () => new CommandBatch(createdMs, this.#timeoutMs)).adopt(each);
    }
    for (const [node, batch] of batches) node.server.resend(batch);
  }

  #retryLater(checks: readonly KeyChecks[], createdMs: number, slot: number): void {
    this.#topology.soon();
    this.#queue.add(checks, createdMs, this.#topology.trouble ?? new Error(`slot ${slot} has no node`));
  }

  /** The node that a redirection names; updates the map if the slot has moved for good. */
  #nodeFor(redirection: Redirection, key: string): ClusterNode | undefined {
    if (redirection.kind !== "ask") this.#topology.soon();
    if (redirection.kind === "later") return undefined;
    const node = this.#closed === undefined ? this.#nodes.at(redirection.endpoint) : undefined;
    if (node !== undefined && redirection.kind === "moved" && redirection.slot === hashSlot(key))
      this.#map.assign(redirection.slot, node);
    return node;
  }

  /** The number of redirections of the checks, this one included. */
  #hop({ check }: KeyChecks): number {
    const hops = (this.#hops.get(check) ?? 0) + 1;
    this.#hops.set(check, hops);
    return hops;
  }

  #slotOf(key: string): number {
    if (key !== this.#lastKey) {
      this.#lastSlot = hashSlot(key);
      this.#lastKey = key;
    }
    return this.#lastSlot;
  }
}
