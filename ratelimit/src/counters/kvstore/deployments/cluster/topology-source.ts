// Asks for the topology: nodes to which connections stand already, else the configured ones, each
// by a connection of its own that is closed again. When to ask is the matter of
// topology-refresh.ts.
import type { KvstoreAddress } from "../../address.ts";
import { type Connection, connect } from "../../connection/connection.ts";
import type { KvstoreServerOptions } from "../../options.ts";
import type { KvstoreServer } from "../../server/server.ts";
import { connectionError } from "../../store-errors.ts";
import type { Reply } from "../../connection/command-sink.ts";
import { hostOf, type Seeds } from "./seeds.ts";
import { parseShardsReply, parseSlotsReply, type SlotRange } from "./topology.ts";

/** Most nodes with standing connections that are asked before the configured ones are. */
const ASKED_MAX = 3;

/** What a server answers that does not know CLUSTER SLOTS any more. */
const UNKNOWN_COMMAND = /^ERR unknown (?:sub)?command/i;

/** Sends one command and gives its reply, or fails. */
type Ask = (command: string, ...args: string[]) => Promise<unknown>;

/** Where the topology comes from. */
export class TopologySource {
  readonly #seeds: Seeds;
  readonly #server: KvstoreServerOptions;
  /** Where among the nodes to begin next time, so that no single one is believed for ever. */
  #turn = 0;
  readonly #connections = new Set<Connection>();

  constructor(seeds: Seeds, server: KvstoreServerOptions) {
    this.#seeds = seeds;
    this.#server = server;
  }

  /**
   * The ranges of the cluster, at least one; `ready` are the nodes to which a connection stands.
   * Fails with the error of the last attempt.
   */
  async ask(ready: readonly KvstoreServer[]): Promise<readonly SlotRange[]> {
    for (let tries = 0; tries < Math.min(ASKED_MAX, ready.length); tries++) {
      this.#turn += 1;
      const server = ready[this.#turn % ready.length];
      if (server === undefined) continue;
      // When it fails the next one may know: a node that hangs or is gone is what makes us ask.
      const ask: Ask = (command, ...args) => server.query(command, ...args);
      const ranges = await this.#topologyOf(server.address, ask).catch(() => undefined);
      if (ranges !== undefined) return ranges;
    }
    return await this.#askSeeds();
  }

  /** Ends what is under way. */
  close(): void {
    for (const connection of this.#connections) connection.close(new Error("closed"));
  }

  /**
   * Asks all configured nodes at once and takes the first answer, so that one which is silent
   * delays nothing.
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
          // The time for connecting bounds the answer, too.
          const timer = setTimeout(
            () => connection.close(new Error(`no answer within ${connectTimeoutMs} ms`)),
            connectTimeoutMs,
          );
          const done = (): void => {
            clearTimeout(timer);
            connection.close(new Error("closed"));
          };
          this.#topologyOf(address, (command, ...args) => askConnection(connection, command, args))
            .then(resolve, fail)
            .finally(done);
        },
        closed: (cause: unknown) => {
          this.#connections.delete(connection);
          fail(cause); // Of no effect after an answer.
        },
      };
      const connection = connect({ address, tls, listener }, { connectTimeoutMs, wantsPrimary: false });
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
    // CLUSTER SLOTS is deprecated since version 7; a server that has removed it knows CLUSTER
    // SHARDS.
    if (!(error instanceof Error) || !UNKNOWN_COMMAND.test(reasonText(error))) throw error;
    return parseShardsReply(await ask("CLUSTER", "SHARDS"), context);
  }
}

/** The server's own words. */
function reasonText(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function askConnection(connection: Connection, command: string, args: readonly string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    connection.write(
      (sink) => sink.call(command, ...args),
      ([reply]: readonly Reply[]) => {
        const [error, value] = reply ?? [new Error("the reply is missing"), undefined];
        if (error === null) resolve(value);
        else reject(error);
      },
    );
  });
}
