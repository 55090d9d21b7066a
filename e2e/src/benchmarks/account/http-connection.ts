// One keep-alive connection of the account service's load generator: sends requests that are bytes
// already, and reads as little of the answers as it can.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { STACK_HOST } from "@weir/dev/setup/ports";

const HEAD_END = Buffer.from("\r\n\r\n");

/** An answer. */
export interface HttpAnswer {
  readonly status: number;
  /** The status line and the headers. */
  readonly head: string;
}

/** Receives the answers of a connection in the order of its requests, and its end. */
export interface AnswerListener {
  /** Called for each answer. */
  answered(answer: HttpAnswer): void;
  /** Called when the connection ends before it was closed here. */
  failed(reason: string): void;
}

/** Opens a connection. */
export async function openHttpConnection(port: number, listener: AnswerListener): Promise<HttpConnection> {
  const socket = connect({ host: STACK_HOST, port, noDelay: true });
  await once(socket, "connect");
  return new HttpConnection(socket, listener);
}

/** A connection. */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #listener: AnswerListener;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;

  constructor(socket: Socket, listener: AnswerListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.on("data", (part: Buffer) => this.#read(part));
    socket.on("error", (error) => this.#fail(error.message));
    socket.on("close", () => this.#fail("the service closed the connection"));
  }

  /** Sends a whole request. */
  send(request: Uint8Array): void {
    this.#socket.write(request);
  }

  /** Closes the connection. */
  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #read(part: Buffer): void {
    this.#received = this.#received.length === 0 ? part : Buffer.concat([this.#received, part]);
    for (;;) {
      const headEnd = this.#received.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const head = this.#received.toString("latin1", 0, headEnd);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const end = headEnd + HEAD_END.length + length;
      if (this.#received.length < end) return;
      this.#received = this.#received.subarray(end);
      this.#listener.answered({ status: Number(head.slice(9, 12)), head });
    }
  }

  #fail(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener.failed(reason);
  }
}
