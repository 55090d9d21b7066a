// Asks for the topology: connected nodes first, then the configured ones, each by a connection of
// its own that is closed again.
import type { KvstoreAddress } from "../address.ts";
import { connectForQueries, type QueryConnection } from "../connection/query-connection.ts";
import type { KvstoreServerOptions } from "../options.ts";
import type { KvstoreServer } from "../server/server.ts";
import { connectionError } from "../store-errors.ts";
import { hostOf, type Seeds } from "./seeds.ts";
import { parseShardsReply, parseSlotsReply, type SlotRange } from "./topology.ts";

/** Most connected nodes that are asked before the configured ones. */
const ASKED_MAX = 3;

/** The error of a server that no longer has CLUSTER SLOTS. */
const UNKNOWN_COMMAND = /^ERR unknown (?:sub)?command/i;

/** Sends one command and returns its reply, or fails. */
type Ask = (command: string, ...args: string[]) => Promise<unknown>;

/** Asks nodes for the topology. */
export class TopologySource {
  readonly #seeds: Seeds;
  readonly #server: KvstoreServerOptions;
  /** The index of the next node to ask, so that different nodes are asked over time. */
  #turn = 0;
  readonly #connections = new Set<QueryConnection>();

  constructor(seeds: Seeds, server: KvstoreServerOptions) {
    this.#seeds = seeds;
    this.#server = server;
  }

  /**
   * The slot ranges of the cluster, at least one; `ready` are the connected nodes. Fails with the
   * error of the last attempt.
   */
  async ask(ready: readonly KvstoreServer[]): Promise<readonly SlotRange[]> {
    for (let tries = 0; tries < Math.min(ASKED_MAX, ready.length); tries++) {
      this.#turn += 1;
      const server = ready[this.#turn % ready.length];
      if (server === undefined) continue;
      // When it fails the next node may know: a lost or hanging node is a reason to ask.
      const ask: Ask = (command, ...args) => server.query(command, ...args);
      const ranges = await this.#topologyOf(server.address, ask).catch(() => undefined);
      if (ranges !== undefined) return ranges;
    }
    return await this.#askSeeds();
  }

  /** Closes all connections. */
  close(): void {
    for (const connection of this.#connections) connection.close(new Error("closed"));
  }

  /**
   * Asks all configured nodes together and takes the first answer, so that a silent node delays
   * nothing.
   */
  async #askSeeds(): Promise<readonly SlotRange[]> {
    try {
      return await Promise.any(this.#seeds.addresses.map((address) => this.#askSeed(address)));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  #askSeed(address: KvstoreAddress): Promise<readonly SlotRange[]> {
    const { tls, connectTimeoutMs } = this.#server;
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(connectionError(address.text, cause));
      const listener = {
        ready: () => {
          // The time limit for connecting also bounds the answer.
          const timer = setTimeout(
            () => connection.close(new Error(`no answer within ${connectTimeoutMs} ms`)),
            connectTimeoutMs,
          );
          const done = (): void => {
            clearTimeout(timer);
            connection.close(new Error("closed"));
          };
          this.#topologyOf(address, (command, ...args) => connection.query(command, ...args))
            .then(resolve, fail)
            .finally(done);
        },
        closed: (cause: unknown) => {
          this.#connections.delete(connection);
          fail(cause); // No effect after an answer.
        },
      };
      const connection = connectForQueries({ address, tls, listener }, { connectTimeoutMs });
      this.#connections.add(connection);
    });
  }

  async #topologyOf(address: KvstoreAddress, ask: Ask): Promise<readonly SlotRange[]> {
    const context = { askedHost: hostOf(address), isTls: address.isTls || this.#server.tls !== undefined };
    const ranges = await askSlots(ask, context);
    if (ranges === undefined) throw new Error("the answer to CLUSTER SLOTS cannot be read");
    if (ranges.length === 0) throw new Error("the cluster has no slots");
    return ranges;
  }
}

async function askSlots(
  ask: Ask,
  context: Parameters<typeof parseSlotsReply>[1],
): Promise<readonly SlotRange[] | undefined> {
  try {
    return parseSlotsReply(await ask("CLUSTER", "SLOTS"), context);
  } catch (error) {
    // CLUSTER SLOTS is deprecated since version 7; a server without it has CLUSTER SHARDS.
    if (!(error instanceof Error) || !UNKNOWN_COMMAND.test(reasonText(error))) throw error;
    return parseShardsReply(await ask("CLUSTER", "SHARDS"), context);
  }
}

/** The server's message. */
function reasonText(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
