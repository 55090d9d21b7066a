// Sends a silent server the expiry of a key until it replies, on a connection of its own: what is lost
// there mixes up no replies. PING alone would be answered while writes are paused (CLIENT PAUSE WRITE).
import { type Connection, connect } from "./connection.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import type { RedisAddress } from "../address.ts";
import type { RedisTlsOptions } from "../options.ts";
import { ReplyError } from "./reply.ts";

/** Wait between two probes, in milliseconds. */
const INTERVAL_MS = 100;

export interface SilenceProbeDeps {
  /** The current address of the server, for each connection. */
  readonly target: () => RedisAddress;
  readonly tls: RedisTlsOptions | undefined;
  /** The buffer in which commands are built. */
  readonly commands: CommandBuffer;
  /** Called when the server has replied to a write, or that it refuses one; the probe has stopped. */
  readonly answered: () => void;
}

/** A key that calls had no answer for, and its expiry: sending it again changes nothing. */
export interface ProbeKey {
  readonly key: string;
  readonly seconds: number;
}

/** The probe of one server, stopped at first. */
export class SilenceProbe {
  readonly #deps: SilenceProbeDeps;
  readonly #timeoutMs: number;
  /** Probes on one connection before it is replaced by another. */
  readonly #probesMax: number;
  #timer: NodeJS.Timeout | undefined;
  #connection: Connection | undefined;
  #isReady = false;
  #probes = 0;

  /** `timeoutMs` is how long a connection may be without any answer. */
  constructor(deps: SilenceProbeDeps, { timeoutMs }: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#probesMax = Math.max(1, Math.ceil(timeoutMs / INTERVAL_MS));
  }

  /** Probes until an answer comes or `stop` is called. */
  start(key: ProbeKey): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#probe(key), INTERVAL_MS);
    this.#connect(key);
  }

  /** Probes no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#disconnect();
  }

  #probe(key: ProbeKey): void {
    this.#probes += 1;
    if (this.#connection === undefined || this.#probes >= this.#probesMax) this.#connect(key);
    else if (this.#isReady) this.#send(this.#connection, key);
  }

  #connect(key: ProbeKey): void {
    const { target, tls, commands } = this.#deps;
    this.#disconnect();
    this.#probes = 0;
    const isCurrent = (): boolean => this.#connection === connection;
    const listener = {
      ready: (): void => {
        this.#isReady = true;
        this.#send(connection, key);
      },
      closed: (cause: unknown): void => {
        if (!isCurrent()) return;
        this.#disconnect(); // The next probe connects again.
        if (cause instanceof ReplyError) this.#answered();
      },
    };
    const connection: Connection = connect(
      { address: target(), tls, listener, commands },
      { connectTimeoutMs: this.#timeoutMs, wantsPrimary: false },
    );
    this.#connection = connection;
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#isReady = false;
    connection?.close(new Error("the probe is over"));
  }

  #send(connection: Connection, { key, seconds }: ProbeKey): void {
    const { commands } = this.#deps;
    commands.expire(key, Buffer.byteLength(key), seconds);
    connection.expect({
      replies: 1,
      receive: () => this.#answered(),
      completed: () => undefined,
      lost: () => undefined,
    });
    connection.flush();
  }

  #answered(): void {
    if (this.#timer === undefined) return;
    this.stop();
    this.#deps.answered();
  }
}
