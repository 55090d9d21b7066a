// One address in front of several servers of this machine, as a Kubernetes Service is: connections
// go to the servers in turn, running or not. A test can also cut them.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

import { joinSockets } from "../processes/join-sockets.ts";

/** Opens an address for servers at these ports. */
export async function openServiceAddress(...ports: readonly [number, ...number[]]): Promise<ServiceAddress> {
  const address = new ServiceAddress(ports);
  await address.listen();
  return address;
}

/** The address. */
export class ServiceAddress {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections = 0;
  #isBlocked = false;

  constructor(ports: readonly [number, ...number[]]) {
    this.#server = createServer((client) => {
      const port = ports[this.#connections % ports.length] ?? ports[0];
      this.#connections += 1;
      if (this.#isBlocked) client.resetAndDestroy();
      else joinSockets(client, connect(port, "127.0.0.1"), this.#sockets);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that reached it so far. */
  connections(): number {
    return this.#connections;
  }

  /** Begins to accept connections on a free port. */
  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  /** Ends every connection, both ways; later ones pass. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends every connection, and resets new ones until `restore`. */
  block(): void {
    this.#isBlocked = true;
    this.cut();
  }

  /** Accepts connections again. */
  restore(): void {
    this.#isBlocked = false;
  }

  async close(): Promise<void> {
    this.cut();
    await once(this.#server.close(), "close");
  }
}
