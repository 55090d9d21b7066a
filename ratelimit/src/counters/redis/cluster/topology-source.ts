// Asks for the slots of the cluster: connected nodes first, then the configured ones.
import type { RedisAddress } from "../address.ts";
import type { RedisServerOptions } from "../options.ts";
import { firstAnswer } from "../topology/first-answer.ts";
import type { Query } from "../topology/topology-client.ts";
import { hostOf, type Seeds } from "./seeds.ts";
import { parseShardsReply, parseSlotsReply, type SlotRange, type TopologyContext } from "./topology.ts";

/** Most connected nodes that are asked before the configured ones. */
const ASKED_MAX = 3;

/** The error of a server that no longer has CLUSTER SLOTS. */
const UNKNOWN_COMMAND = /^ERR unknown (?:sub)?command/i;

/** Asks nodes for the topology. */
export class TopologySource {
  readonly #seeds: Seeds;
  readonly #server: RedisServerOptions;
  /** The index of the next node to ask, so that different nodes are asked over time. */
  #turn = 0;
  readonly #closed = new AbortController();

  constructor(seeds: Seeds, server: RedisServerOptions) {
    this.#seeds = seeds;
    this.#server = server;
  }

  /**
   * The slot ranges of the cluster, at least one; `connected` are nodes that work. Fails with
   * STORE_UNAVAILABLE when no node answers.
   */
  ask(connected: readonly RedisAddress[]): Promise<readonly SlotRange[]> {
    const first = this.#turn++ % Math.max(1, connected.length);
    const nodes = [...connected.slice(first), ...connected.slice(0, first)].slice(0, ASKED_MAX);
    const { tls, connectTimeoutMs: timeoutMs } = this.#server;
    return firstAnswer([...nodes, ...this.#seeds.addresses], async (address, answered) => {
      const context = { askedHost: hostOf(address), isTls: address.isTls || tls !== undefined };
      const signal = AbortSignal.any([answered, this.#closed.signal]);
      const { ask } = await import("../topology/topology-client.ts"); // Most pods need no ioredis.
      return ask({ address, tls, timeoutMs, signal }, (query) => askSlots(query, context));
    });
  }

  /** Closes all connections. */
  close(): void {
    this.#closed.abort();
  }
}

async function askSlots(query: Query, context: TopologyContext): Promise<readonly SlotRange[]> {
  const ranges = await query("CLUSTER", "SLOTS").then(
    (reply) => parseSlotsReply(reply, context),
    async (error: unknown) => {
      // CLUSTER SLOTS is deprecated since version 7; a server without it has CLUSTER SHARDS.
      if (!(error instanceof Error) || !UNKNOWN_COMMAND.test(error.message)) throw error;
      return parseShardsReply(await query("CLUSTER", "SHARDS"), context);
    },
  );
  if (ranges === undefined) throw new Error("the answer to CLUSTER SLOTS cannot be read");
  if (ranges.length === 0) throw new Error("the cluster has no slots");
  return ranges;
}
