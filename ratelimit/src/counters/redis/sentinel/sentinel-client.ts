// One sentinel: asks it for the primary, by a connection per question, and subscribes to changes of
// the primary, by a lasting connection.
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import { PORT_MAX } from "@weir/common/net/host-port";
import type { RedisAddress } from "../address.ts";
import type { RedisTlsOptions } from "../options.ts";
import type { TopologyServer } from "../topology/topology-client.ts";

/**
 * The channel on which sentinels publish a new primary: its name, its old host and port, its new
 * host and port.
 */
const SWITCH_CHANNEL = "+switch-master";

/** Waits between attempts to subscribe, in milliseconds. */
const SUBSCRIBE_INITIAL_MS = 250;
const SUBSCRIBE_MAX_MS = 5_000;

/** The address of the primary. */
export interface PrimaryPlace {
  readonly host: string;
  readonly port: number;
}

export interface SentinelClientDeps {
  readonly address: RedisAddress;
  readonly tls: RedisTlsOptions | undefined;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Called when the primary may have changed. */
  readonly changed: (client: SentinelClient) => void;
}

/** A sentinel. */
export class SentinelClient {
  readonly #deps: SentinelClientDeps;
  readonly #options: { readonly primaryName: string; readonly timeoutMs: number };
  readonly #subscribing: RetryLoop;
  readonly #closed = new AbortController();

  /** `timeoutMs` bounds the wait for an answer, the connection included. */
  constructor(deps: SentinelClientDeps, options: { readonly primaryName: string; readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#options = options;
    this.#subscribing = new RetryLoop(() => void this.#subscribe(), {
      initialMs: SUBSCRIBE_INITIAL_MS,
      maxMs: SUBSCRIBE_MAX_MS,
      factor: 1,
      jitter: true,
      random: deps.random,
    });
  }

  /** Subscribes to changes until it is closed. */
  open(): void {
    this.#subscribing.start();
  }

  /** The primary, as far as this sentinel knows. Fails with STORE_UNAVAILABLE. */
  async ask(signal: AbortSignal): Promise<PrimaryPlace> {
    const { primaryName } = this.#options;
    const { ask } = await import("../topology/topology-client.ts"); // Most pods need no ioredis.
    return ask(this.#server(AbortSignal.any([signal, this.#closed.signal])), async (query) =>
      placeIn(await query("SENTINEL", "get-master-addr-by-name", primaryName), primaryName),
    );
  }

  /** Closes all connections. */
  close(): void {
    this.#subscribing.stop();
    this.#closed.abort();
  }

  async #subscribe(): Promise<void> {
    const { changed } = this.#deps;
    const { primaryName } = this.#options;
    const { subscribe } = await import("../topology/topology-client.ts");
    const subscription = subscribe(this.#server(this.#closed.signal), SWITCH_CHANNEL, {
      subscribed: () => {
        this.#subscribing.succeeded();
        changed(this); // A change may have been published before.
      },
      received: (message) => {
        if (message.startsWith(`${primaryName} `)) changed(this);
      },
    });
    await subscription.catch(() => this.#subscribing.retry());
  }

  #server(signal: AbortSignal): TopologyServer {
    const { address, tls } = this.#deps;
    return { address, tls, timeoutMs: this.#options.timeoutMs, signal };
  }
}

function placeIn(reply: unknown, primaryName: string): PrimaryPlace {
  if (reply === null) throw new Error(`the sentinel knows no primary of the name ${primaryName}`);
  const [host, port] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const number = Number(port);
  if (typeof host !== "string" || host === "" || !Number.isInteger(number) || number < 1 || number > PORT_MAX) {
    throw new Error("the sentinel's answer is not the address of a primary");
  }
  return { host, port: number };
}
