// Writes the output of a connection to its socket.
import type { Socket } from "node:net";

import type { ByteSink } from "../output/output.ts";

/** Written after what could not be sent immediately: its callback reports that it is sent now. */
const NOTHING: Buffer = Buffer.alloc(0);

/** How a sink reports. */
export interface SocketSinkOptions {
  /** True if the socket never sends immediately, as with TLS. */
  readonly isAsync: boolean;
  /** Connection.sent. */
  readonly sent: () => void;
  /** See ByteSink.refused. */
  readonly refused: (preface: "http1" | "foreign") => void;
}

/** The sink of one socket. */
export class SocketSink implements ByteSink {
  readonly #socket: Socket;
  readonly #isAsync: boolean;
  readonly #sent: () => void;
  /** Receives what the client begins with, when that is not HTTP/2. */
  readonly refused: (preface: "http1" | "foreign") => void;

  constructor(socket: Socket, { isAsync, sent, refused }: SocketSinkOptions) {
    this.#socket = socket;
    this.#isAsync = isAsync;
    this.#sent = sent;
    this.refused = refused;
  }

  write(bytes: Buffer): boolean {
    const socket = this.#socket;
    if (!socket.writable) return true; // The client is gone, or has ended its direction.
    if (this.#isAsync) {
      socket.write(bytes, this.#sent);
      return false;
    }
    // A callback with every write would cost a tick of the process for each.
    socket.write(bytes);
    if (socket.writableLength === 0) return true;
    socket.write(NOTHING, this.#sent);
    return false;
  }

  writeAll(buffers: readonly Buffer[]): boolean {
    const socket = this.#socket;
    if (!socket.writable) return true;
    socket.cork();
    for (const bytes of buffers) socket.write(bytes);
    if (this.#isAsync) socket.write(NOTHING, this.#sent);
    socket.uncork();
    if (this.#isAsync) return false;
    if (socket.writableLength === 0) return true;
    socket.write(NOTHING, this.#sent);
    return false;
  }

  unsentBytes(): number {
    return this.#socket.writableLength;
  }

  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
