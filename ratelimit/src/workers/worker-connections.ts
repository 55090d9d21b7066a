// The connections of a worker: takes them from the service, and reports how many have closed.
import type { Socket } from "node:net";

import type { FromWorker } from "./messages.ts";

/** Longest wait before closed connections are reported, in milliseconds. */
const REPORT_DELAY_MS = 20;

/** The transport, as far as connections are concerned. */
export interface ConnectionTaker {
  /** Serves a connection that another process has accepted. */
  take(socket: Socket): void;
  /** Sends GOAWAY on so many connections that have not received it. */
  shed(connections: number): void;
  /** Open connections that have received it. */
  readonly shedConnections: number;
}

/** The connections. */
export class WorkerConnections {
  readonly #transport: ConnectionTaker;
  readonly #send: (message: FromWorker) => void;
  #closed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(transport: ConnectionTaker, send: (message: FromWorker) => void) {
    this.#transport = transport;
    this.#send = send;
  }

  /** Takes a connection; undefined when it has closed on the way. */
  take(socket: Socket | undefined): void {
    if (socket === undefined) {
      this.#noteClosed();
      return;
    }
    socket.once("close", () => this.#noteClosed());
    this.#transport.take(socket);
  }

  /** Sends GOAWAY on so many. */
  shed(connections: number): void {
    this.#transport.shed(connections);
    this.#report();
  }

  #noteClosed(): void {
    this.#closed += 1;
    this.#timer ??= setTimeout(() => this.#report(), REPORT_DELAY_MS);
  }

  #report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#send({ kind: "connections", closed: this.#closed, shed: this.#transport.shedConnections });
  }
}
