// The gRPC listener of a service with workers: accepts connections, reads nothing of them, and hands
// each to a worker.
import { createServer, type Server } from "node:net";

import type { Log } from "@weir/common/log/log";
import { formatAddress, KEEP_ALIVE_PROBES, listen, listenUnix } from "@weir/common/net/listen";

import type { ListenerAddress, Transport } from "../transport/transport.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** The gateway. */
export class ConnectionGateway implements Transport {
  readonly name = "gRPC listener";
  readonly #pool: WorkerPool;
  readonly #listenAddress: ListenerAddress;
  readonly #server: Server;
  #address: string | undefined;

  constructor({ pool, log }: { readonly pool: WorkerPool; readonly log: Log }, address: ListenerAddress) {
    this.#pool = pool;
    this.#listenAddress = address;
    this.#server = createServer({ noDelay: true, pauseOnConnect: true, ...KEEP_ALIVE_PROBES }, (socket) => {
      socket.on("error", (error) => log.debug("A connection broke", { to: "gRPC", error }));
      pool.give(socket);
    });
    this.#server.on("error", (error) => {
      // While it opens, `start` reports the error.
      if (this.#server.listening) log.warn("Cannot accept a connection", { to: "gRPC", error });
    });
  }

  address(): string | undefined {
    return this.#address;
  }

  async start(): Promise<void> {
    const address = this.#listenAddress;
    if (address.kind === "tcp") {
      const opened = await listen(this.#server, { ...address, setting: "GRPC_PORT", what: "gRPC" });
      this.#address = formatAddress(opened);
      return;
    }
    await listenUnix(this.#server, { ...address, setting: "GRPC_UDS", what: "gRPC" });
    this.#address = `unix:${address.path}`;
  }

  async drain(): Promise<void> {
    this.#close();
    await this.#pool.drain();
  }

  /** The workers close their connections when they stop, which is later. */
  stop(): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  #close(): void {
    if (this.#server.listening) this.#server.close();
  }
}
