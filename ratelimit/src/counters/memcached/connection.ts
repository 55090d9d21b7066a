// One connection to one node, from connecting to its end; it is not reused. Commands are answered in
// the order in which they were written.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { clientContext } from "@weir/common/tls/client-context";
import { silenceError, type StoreError } from "../store-error.ts";
import type { NodeAddress } from "./node-address.ts";
import type { MemcachedTlsOptions } from "./options.ts";
import { excerpt, ProtocolError, ReplyParser, type ReplyListener, unaskedItem } from "./reply-parser.ts";
import { connectionError } from "./store-errors.ts";

/** TCP keep-alive of idle connections, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** Answered commands in the list before it is cut; cutting costs as much as the list is long. */
const ANSWERED_MAX = 1024;

/** A command: its bytes, and its answer of items, if it gets any, followed by one last line. */
export interface Command extends Pick<ReplyListener, "line">, Partial<Pick<ReplyListener, "value">> {
  /** The bytes to send. */
  readonly text: string;
  /** Keys in it: its share of the load of a connection. */
  readonly size: number;
  /** When it was written; set by the connection. */
  writtenMs: number;
  /** There will be no answer; it is unknown whether the server has executed the command. */
  lost(error: StoreError): void;
}

/**
 * Receives the events of a connection: `ready` at most once, `closed` exactly once and last, neither
 * before the constructor has returned.
 */
export interface ConnectionListener {
  /** Commands may be written from now on. */
  ready(connection: Connection): void;
  /** The connection has ended with this error. Its commands have received it. */
  closed(connection: Connection, error: StoreError): void;
}

export interface ConnectionDeps {
  readonly address: NodeAddress;
  readonly tls: MemcachedTlsOptions | undefined;
  readonly listener: ConnectionListener;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** A connection. Commands may be written between `ready` and `closed`. */
export class Connection implements ReplyListener {
  readonly #deps: ConnectionDeps;
  readonly #timeoutMs: number;
  readonly #parser = new ReplyParser(this);
  #socket: Socket | undefined;
  /** Commands in the order in which they were written; those before `#head` are answered. */
  #commands: Command[] = [];
  #head = 0;
  #load = 0;
  /** True if the socket is connected, TLS included. */
  #isConnected = false;
  #timer: NodeJS.Timeout | undefined;
  #error: StoreError | undefined;
  readonly #check = (): void => this.#checkSilence();

  constructor(deps: ConnectionDeps, options: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
    this.#setTimer(this.#timeoutMs);
    try {
      this.#open();
    } catch (cause) {
      // Certificates that cannot be read are refused before there is a socket.
      setImmediate(() => this.close(cause));
    }
  }

  /** Keys in commands that have no answer yet. */
  get load(): number {
    return this.#load;
  }

  /** Writes commands in one piece. */
  write(commands: readonly Command[]): void {
    if (this.#error !== undefined || this.#socket === undefined) {
      const error = this.#error ?? connectionError(this.#deps.address.text, new Error("not connected"));
      for (const command of commands) command.lost(error);
      return;
    }
    const nowMs = this.#deps.monotonicMs();
    let text = "";
    for (const command of commands) {
      text += command.text;
      command.writtenMs = nowMs;
      this.#commands.push(command);
      this.#load += command.size;
    }
    this.#socket.write(text);
    if (this.#timer === undefined) this.#setTimer(this.#timeoutMs);
  }

  /** Ends the connection; its commands and the listener are called before this returns. */
  close(cause: unknown): void {
    this.#end(connectionError(this.#deps.address.text, cause));
  }

  value(key: string, data: string | undefined): void {
    const command = this.#commands[this.#head];
    if (command?.value === undefined) throw unaskedItem(key);
    command.value(key, data);
  }

  line(line: string): void {
    const command = this.#commands[this.#head];
    if (command === undefined) throw new ProtocolError(`${excerpt(line)} answers no command`);
    command.line(line);
    this.#load -= command.size;
    this.#head += 1;
    if (this.#head === this.#commands.length || this.#head > ANSWERED_MAX) {
      this.#commands = this.#commands.slice(this.#head);
      this.#head = 0;
    }
  }

  #open(): void {
    const { address, tls } = this.#deps;
    const target = address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port };
    const socket = tls === undefined ? connectTcp(target) : connectTls({ ...target, ...tlsOptions(address, tls) });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // The listener stays to the end: a TLS socket can fail twice, first over the name, then over
    // the alert.
    socket.on("error", (cause) => this.close(cause));
    socket.on("close", () => this.close(new Error("the server closed the connection")));
    socket.once(tls === undefined ? "connect" : "secureConnect", () => this.#introduce());
    socket.on("data", (chunk) => this.#parse(typeof chunk === "string" ? Buffer.from(chunk) : chunk)); // Never text: no encoding was set.
  }

  #parse(chunk: Buffer): void {
    if (this.#error !== undefined) return;
    try {
      this.#parser.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close(new Error(`the server does not speak memcached's protocol: ${error.message}`));
    }
  }

  /** Asks for the version. A connection is ready with the answer: a stopped server accepts, too. */
  #introduce(): void {
    if (this.#error !== undefined) return;
    this.#isConnected = true;
    const command: Command = {
      text: "version\r\n",
      size: 0,
      writtenMs: 0,
      line: (line) => {
        if (!line.startsWith("VERSION ")) throw new ProtocolError(`the answer to version is ${excerpt(line)}`);
        this.#deps.listener.ready(this);
      },
      lost: () => undefined, // The connection reports its end itself.
    };
    this.write([command]);
  }

  #setTimer(delayMs: number): void {
    // Data in the socket is read first: this process may have been the one that paused.
    this.#timer = setTimeout(() => setImmediate(this.#check), delayMs);
  }

  #checkSilence(): void {
    this.#timer = undefined;
    const oldest = this.#commands[this.#head];
    if (this.#error !== undefined || (oldest === undefined && this.#isConnected)) return;
    const remainingMs = oldest === undefined ? 0 : oldest.writtenMs + this.#timeoutMs - this.#deps.monotonicMs();
    if (remainingMs <= 0) this.#end(silenceError(this.#deps.address.text, this.#timeoutMs));
    else this.#setTimer(remainingMs);
  }

  #end(error: StoreError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#socket?.destroy();
    const lost = this.#commands.slice(this.#head);
    this.#commands = [];
    this.#head = 0;
    this.#load = 0;
    for (const command of lost) command.lost(error);
    this.#deps.listener.closed(this, error);
  }
}

function tlsOptions(address: NodeAddress, tls: MemcachedTlsOptions): ConnectionOptions {
  return {
    secureContext: clientContext(tls.material()),
    ...(address.kind === "tcp" && isIP(address.host) === 0 ? { servername: address.host } : {}),
    ...(tls.skipHostnameVerification ? { checkServerIdentity: () => undefined } : {}),
  };
}
