// One connection to one node, from dialling to its end; never used again after that. Commands are
// answered in the order in which they were written. Making the next connection is the matter of
// node.ts.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { clientContext } from "@weir/common/tls/client-context";
import { silenceError } from "../connection-errors.ts";
import type { StoreError } from "../store-error.ts";
import type { Command } from "./command.ts";
import type { NodeAddress } from "./node-address.ts";
import type { AltstoreTlsOptions } from "./options.ts";
import { excerpt, ReplyParser, type ReplyListener } from "./reply-parser.ts";
import { connectionError } from "./store-errors.ts";

/** TCP keep-alive of idle connections, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/**
 * Answered commands that stay in the list before it is cut; cutting costs as much as the list is
 * long.
 */
const ANSWERED_MAX = 1024;

/**
 * What a connection tells its owner. `ready` comes at most once, `closed` exactly once and last,
 * neither before the constructor has returned.
 */
export interface ConnectionListener {
  /** Commands may be written from now on. */
  ready(connection: Connection): void;
  /** It is over, for the reason given. Its commands have been told. */
  closed(connection: Connection, error: StoreError): void;
}

/** What a connection works with. */
export interface ConnectionDeps {
  readonly address: NodeAddress;
  readonly tls: AltstoreTlsOptions | undefined;
  readonly listener: ConnectionListener;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
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
  /** Whether the socket stands, TLS included. */
  #isIntroduced = false;
  #timer: NodeJS.Timeout | undefined;
  #error: StoreError | undefined;
  readonly #look = (): void => this.#lookForSilence();

  constructor(deps: ConnectionDeps, options: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
    this.#arm(this.#timeoutMs);
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
      for (const command of commands)
        command.lost(this.#error ?? connectionError(this.#deps.address.text, new Error("not connected")));
      return;
    }
    const nowMs = this.#deps.clock();
    let text = "";
    for (const command of commands) {
      text += command.text;
      command.writtenMs = nowMs;
      this.#commands.push(command);
      this.#load += command.size;
    }
    this.#socket.write(text);
    if (this.#timer === undefined) this.#arm(this.#timeoutMs);
  }

  /** Ends it now; the listener and the commands hear of it before this returns. */
  close(cause: unknown): void {
    this.#end(connectionError(this.#deps.address.text, cause));
  }

  value(key: string, data: string | undefined): string | undefined {
    const command = this.#commands[this.#head];
    return command === undefined ? `the item ${excerpt(key)} was not asked for` : command.value(key, data);
  }

  line(line: string): string | undefined {
    const command = this.#commands[this.#head];
    if (command === undefined) return `${excerpt(line)} answers no command`;
    const problem = command.line(line);
    if (problem !== undefined) return problem;
    this.#load -= command.size;
    this.#head += 1;
    if (this.#head === this.#commands.length) {
      this.#commands = [];
      this.#head = 0;
    } else if (this.#head > ANSWERED_MAX) {
      this.#commands = this.#commands.slice(this.#head);
      this.#head = 0;
    }
    return undefined;
  }

  #open(): void {
    const { address, tls } = this.#deps;
    const place = address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port };
    const socket = tls === undefined ? connectTcp(place) : connectTls({ ...place, ...tlsOptions(address, tls) });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // The listener stays to the end: a TLS socket can fail twice, first over the name, then over
    // the alert.
    socket.on("error", (cause) => this.close(cause));
    socket.on("close", () => this.close(new Error("the server closed the connection")));
    socket.once(tls === undefined ? "connect" : "secureConnect", () => this.#introduce());
    socket.on("data", (chunk) => {
      if (this.#error !== undefined) return;
      const problem = this.#parser.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk); // It is never text: no encoding was set.
      if (problem !== undefined) this.close(new Error(`the server does not speak memcached's protocol: ${problem}`));
    });
  }

  /** Only an answer makes a connection: a server that is stopped accepts too. */
  #introduce(): void {
    if (this.#error !== undefined) return;
    this.#isIntroduced = true;
    this.write([new VersionCommand(() => this.#deps.listener.ready(this))]);
  }

  #arm(delayMs: number): void {
    // Data that lies in the socket is read before the silence is judged: this process may have been
    // the one that paused.
    this.#timer = setTimeout(() => setImmediate(this.#look), delayMs);
  }

  #lookForSilence(): void {
    this.#timer = undefined;
    if (this.#error !== undefined) return;
    const oldest = this.#commands[this.#head];
    if (oldest === undefined) {
      if (!this.#isIntroduced) this.#end(this.#silence());
      return;
    }
    const remainingMs = oldest.writtenMs + this.#timeoutMs - this.#deps.clock();
    if (remainingMs <= 0) this.#end(this.#silence());
    else this.#arm(Math.min(remainingMs, this.#timeoutMs)); // A clock that was set back must not make it wait for ever.
  }

  #silence(): StoreError {
    return silenceError(this.#deps.address.text, this.#timeoutMs);
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

/** `version`, which every server of this protocol answers. */
class VersionCommand implements Command {
  readonly text = "version\r\n";
  readonly size = 0;
  writtenMs = 0;
  readonly #answered: () => void;

  constructor(answered: () => void) {
    this.#answered = answered;
  }

  value(key: string): string {
    return `the item ${excerpt(key)} was not asked for`;
  }

  line(line: string): string | undefined {
    if (!line.startsWith("VERSION ")) return `the answer to version is ${excerpt(line)}`;
    this.#answered();
    return undefined;
  }

  lost(): void {
    // Its connection tells its own end.
  }
}

function tlsOptions(address: NodeAddress, tls: AltstoreTlsOptions): ConnectionOptions {
  return {
    secureContext: clientContext(tls.material()),
    ...(address.kind === "tcp" && isIP(address.host) === 0 ? { servername: address.host } : {}),
    ...(tls.skipHostnameVerification ? { checkServerIdentity: () => undefined } : {}),
  };
}
