// Opens the sockets of ioredis instead of its own connector: a socket that fails twice (TLS does:
// first the name, then the alert) must not end the process for lack of a second listener, and a
// connection that is closed must end immediately.
import type { Socket } from "node:net";
import { AbstractConnector } from "ioredis";
import { openSocket, type SocketOptions } from "./socket.ts";

/** The value for the `Connector` option. */
export class SocketConnector extends AbstractConnector {
  readonly #options: SocketOptions;
  #socket: Socket | undefined;

  constructor(options: unknown) {
    super(0);
    this.#options = options as SocketOptions; // ioredis passes the options of its client.
  }

  /** Opens the socket; ioredis waits for it to be connected. */
  override connect(): Promise<Socket> {
    try {
      const socket = openSocket(this.#options);
      this.#socket = socket;
      socket.on("error", (error) => (this.firstError ??= error));
      return Promise.resolve(socket);
    } catch (error) {
      // Certificates that cannot be read are refused before there is a socket.
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends the socket now, without waiting for the other side. */
  override disconnect(): void {
    this.#socket?.destroy();
  }
}
