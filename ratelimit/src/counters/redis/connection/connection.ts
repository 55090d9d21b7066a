// One connection to one server, from connecting to its end; it is not reused. It pipelines: replies
// are handed to the receivers of the commands, first in, first out.
import type { Socket } from "node:net";
import type { RedisAddress } from "../address.ts";
import type { RedisTlsOptions } from "../options.ts";
import { isUselessConnection } from "../store-errors.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import { Introduction } from "./introduction.ts";
import type { Reply, ReplyReceiver } from "./reply.ts";
import { ReplyParser } from "./reply-parser.ts";
import { openSocket, type SocketOptions, socketOptions } from "./socket.ts";

/** TCP keep-alive of idle connections, in milliseconds; as in envoyproxy/ratelimit. */
const KEEP_ALIVE_MS = 10_000;

/** Receivers that are done and still in the queue: it is shortened beyond this. */
const DONE_MAX = 256;

/**
 * Memory for the bytes that arrive on any socket without TLS: they are parsed before anything else is
 * read, since writing never reads. 64 KiB are the most that libuv reads in one piece.
 */
const RECEIVED = Buffer.allocUnsafeSlow(64 * 1024);

/** Receives the events of a connection: `ready` at most once, `closed` exactly once and last. */
export interface ConnectionListener {
  /** Commands may be written from now on. */
  ready(): void;
  /** The server has executed a command that was written after `ready`; called at most once. */
  useful?(): void;
  /** The connection has ended; `cause` is the reason as far as known. */
  closed(cause: unknown): void;
}

export interface ConnectionDeps {
  readonly address: RedisAddress;
  readonly tls: RedisTlsOptions | undefined;
  readonly listener: ConnectionListener;
  /** The buffer in which its commands are built; empty between two event-loop turns. */
  readonly commands: CommandBuffer;
}

/** Options of a connection. */
export interface ConnectionChoices {
  readonly connectTimeoutMs: number;
  /** True if a server that reports the role of a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** Connects to a server. The listener is called after this function returns. */
export function connect(deps: ConnectionDeps, options: ConnectionChoices): Connection {
  return new Connection(deps, options);
}

/** A connection. Commands may be written between `ready` and `closed`. */
export class Connection {
  readonly #commands: CommandBuffer;
  readonly #listener: ConnectionListener;
  readonly #parser: ReplyParser;
  #timer: NodeJS.Timeout;
  /** Undefined when it could not be made. */
  readonly #socket: Socket | undefined;
  /** Receivers in the order of their commands; those before `#current` are done. */
  readonly #receivers: ReplyReceiver[] = [];
  #current = 0;
  /** Replies that the current receiver still expects. */
  #missing = 0;
  /** Replies to the current receiver that are errors. */
  #errors = 0;
  /** An error reply after which the connection is of no use. */
  #useless: Error | undefined;
  #isUseful = false;
  #isReady = false;
  #cause: unknown;
  #isClosed = false;
  #isRetiring = false;

  constructor(
    { address, tls, listener, commands }: ConnectionDeps,
    { connectTimeoutMs, wantsPrimary }: ConnectionChoices,
  ) {
    this.#commands = commands;
    this.#listener = listener;
    this.#parser = new ReplyParser({
      reply: (reply) => this.#receive(reply),
      malformed: (reason) => this.close(new Error(`the server sent no Redis protocol: ${reason}`)),
    });
    this.#timer = setTimeout(
      () => this.close(new Error(`no connection within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    try {
      this.#socket = this.#open(address, tls, wantsPrimary);
    } catch (cause) {
      process.nextTick(() => this.close(cause)); // Certificates that cannot be read.
    }
  }

  /** Registers the receiver of the replies to the commands that were just added to the buffer. */
  expect(receiver: ReplyReceiver): void {
    this.#receivers.push(receiver);
    if (this.#current === this.#receivers.length - 1) this.#missing = receiver.replies;
  }

  /** Writes the commands in the buffer in one piece; each of them has a receiver. */
  flush(): void {
    const socket = this.#socket;
    socket?.write(this.#commands.encoded());
    // The socket reads from the buffer later what the operating system has not taken yet.
    this.#commands.clear(socket !== undefined && socket.writableLength > 0);
  }

  /**
   * Ends the connection when the replies to what was written have arrived, at the latest after
   * `timeoutMs`; nothing may be written any more.
   */
  retire(timeoutMs: number): void {
    const cause = new Error("another connection has taken its place");
    if (this.#current === this.#receivers.length) {
      this.close(cause);
      return;
    }
    this.#isRetiring = true;
    this.#timer = setTimeout(() => this.close(cause), timeoutMs);
  }

  /** Ends the connection; the listener is called before this returns. */
  close(cause: unknown): void {
    this.#cause ??= cause;
    this.#end();
    this.#socket?.destroy();
  }

  #open(address: RedisAddress, tls: RedisTlsOptions | undefined, wantsPrimary: boolean): Socket {
    const options = socketOptions(address, tls);
    const socket = options.tls === undefined ? this.#openPlain(options) : openSocket(options);
    // TLS decrypts into memory of its own.
    if (options.tls !== undefined) socket.on("data", (chunk: Buffer) => this.#parser.parse(chunk, chunk.length));
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.once(options.tls === undefined ? "connect" : "secureConnect", () => this.#introduce(address, wantsPrimary));
    // TLS may fail twice, first with the reason.
    socket.on("error", (cause) => (this.#cause ??= cause));
    socket.on("end", () => this.close(new Error("the server closed the connection")));
    socket.on("close", () => this.#end());
    return socket;
  }

  #openPlain(options: SocketOptions): Socket {
    const callback = (length: number): boolean => {
      this.#parser.parse(RECEIVED, length);
      return true;
    };
    return openSocket(options, { buffer: RECEIVED, callback });
  }

  #introduce(address: RedisAddress, wantsPrimary: boolean): void {
    if (this.#isClosed) return;
    const introduction = new Introduction(address, { wantsPrimary }, (failure) => {
      if (this.#isClosed) return;
      if (failure !== undefined) {
        this.close(failure);
        return;
      }
      clearTimeout(this.#timer);
      this.#isReady = true;
      this.#listener.ready();
    });
    introduction.write(this.#commands);
    this.expect(introduction);
    this.flush();
  }

  #receive(reply: Reply): void {
    const receiver = this.#receivers[this.#current];
    if (receiver === undefined) {
      this.close(new Error("the server sent a reply to no command"));
      return;
    }
    if (typeof reply === "object" && reply instanceof Error) this.#noteError(reply);
    receiver.receive(reply);
    if (this.#isClosed) return; // By the caller who has just received an answer.
    this.#missing -= 1;
    if (this.#missing === 0) this.#complete(receiver);
  }

  #noteError(error: Error): void {
    this.#errors += 1;
    if (this.#isReady && isUselessConnection(error)) this.#useless ??= error;
  }

  /** Continues with the next receiver. */
  #complete(receiver: ReplyReceiver): void {
    const hasResult = this.#errors < receiver.replies;
    this.#errors = 0;
    this.#current += 1;
    if (this.#current === this.#receivers.length || this.#current > DONE_MAX) {
      this.#receivers.splice(0, this.#current);
      this.#current = 0;
    }
    this.#missing = this.#receivers[this.#current]?.replies ?? 0;
    const wasReady = this.#isReady;
    receiver.completed();
    if (this.#useless !== undefined) {
      this.close(this.#useless);
    } else if (this.#isRetiring && this.#current === this.#receivers.length) {
      this.close(new Error("another connection has taken its place"));
    } else if (wasReady && hasResult && !this.#isUseful) {
      this.#isUseful = true;
      this.#listener.useful?.();
    }
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parser.stop();
    clearTimeout(this.#timer);
    const cause = this.#cause ?? new Error("the server closed the connection");
    this.#listener.closed(cause);
    for (const receiver of this.#receivers.splice(0).slice(this.#current)) receiver.lost(cause);
  }
}
