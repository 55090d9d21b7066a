// For tests of `weir rollout`: a small control plane that serves the states a test sets, and a run
// of the command in the process of the test.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";

import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import type { RolloutFilter } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { type RolloutEnvironment, runRollout } from "./rollout-command.ts";

/** A time of the states, and the same in milliseconds. */
const CONNECTED = { seconds: 1_769_862_000n, nanos: 0 };
export const CONNECTED_MS = 1_769_862_000_000;

/** A rollout in a test: fields of the message as it is written in code. */
export type RolloutInit = Readonly<Record<string, unknown>>;

/**
 * A replica with one fleet, one resource, and pods of these states: 1 accepted, 2 rejected, 3
 * pending.
 */
export function rolloutOf(
  replica: string,
  pods: Readonly<Record<string, 1 | 2 | 3>>,
  more: RolloutInit = {},
): RolloutInit {
  const states = Object.values(pods);
  const counts = {
    total: states.length,
    accepted: states.filter((state) => state === 1).length,
    rejected: states.filter((state) => state === 2).length,
    pending: states.filter((state) => state === 3).length,
  };
  return {
    replica,
    ready: true,
    source: { location: "/limits", error: "" },
    fleets: [{ name: "*", version: "0123456789abcdef", resources: 1, bytes: 100n, pods: counts }],
    resources: [{ namespace: "default", name: "shop", domain: "shop", state: 1, pods: counts }],
    pods: Object.entries(pods).map(([pod, state]) => ({
      nodeId: `${pod}-id`,
      pod,
      namespace: "default",
      fleet: "default",
      connectedAt: CONNECTED,
      state,
      sent: { version: "0123456789abcdef" },
      ...(state === 1 ? { accepted: { version: "0123456789abcdef" } } : {}),
      ...(state === 2 ? { rejected: { version: "0123456789abcdef" }, rejection: "invalid rate limit unit 'X'" } : {}),
    })),
    ...more,
  };
}

/** How a control plane of a test is reached. */
export interface FakeControlPlaneOptions {
  /** Certificates; absent: plain HTTP. */
  readonly tls?: ServerOptions;
  /** The status with which a proxy in front of it refuses a request; undefined lets it through. */
  readonly refuse?: (headers: IncomingHttpHeaders) => number | undefined;
}

/** A control plane of a test. */
export class FakeControlPlane {
  readonly filters: (RolloutFilter | undefined)[] = [];
  /** How many of the next questions it is too busy to answer. */
  busy = 0;
  /** Headers of every request, as they came. */
  readonly headers: IncomingHttpHeaders[] = [];
  #rollout: RolloutInit;
  readonly #server: Server;
  readonly #scheme: string;
  #wake = Promise.withResolvers<void>();

  constructor(rollout: RolloutInit, { tls, refuse }: FakeControlPlaneOptions = {}) {
    this.#rollout = rollout;
    this.#scheme = tls === undefined ? "http" : "https";
    const answer = connectNodeAdapter({
      routes: (router) => {
        router.service(RolloutService, {
          getRollout: ({ filter }) => {
            this.filters.push(filter);
            this.busy -= 1;
            if (this.busy >= 0)
              throw new ConnectError("too many answers; ask again", Code.ResourceExhausted, { "Retry-After": "1" });
            return { rollout: this.#rollout };
          },
          watchRollout: (request) => this.#states(request.filter),
        });
      },
    });
    const listener: RequestListener = (request, response) => {
      this.headers.push(request.headers);
      const status = refuse?.(request.headers);
      if (status === undefined) answer(request, response);
      else response.writeHead(status).end();
    };
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  /** Begins to serve, on a free port unless one is given; gives the URL. */
  async start(port = 0, address = "127.0.0.1"): Promise<string> {
    this.#server.listen(port, address);
    await once(this.#server, "listening");
    return `${this.#scheme}://${address}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Changes the state, which watchers hear of. */
  change(rollout: RolloutInit): void {
    this.#rollout = rollout;
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Breaks every connection and continues serving, as a proxy does with what is idle. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** Breaks every connection and serves no more. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async *#states(filter: RolloutFilter | undefined): AsyncGenerator<{ rollout: RolloutInit }> {
    this.filters.push(filter);
    for (;;) {
      const { promise } = this.#wake;
      yield { rollout: this.#rollout };
      await promise;
    }
  }
}

/** Longest wait for anything, in milliseconds. */
export const WAIT_MS = 30_000;

/** A run of the command. */
export interface Run {
  readonly ended: Promise<number>;
  readonly output: { stdout: string; stderr: string };
  readonly abort: AbortController;
}

/** The changes of a test to the process around the command. */
export interface Surroundings extends Partial<RolloutEnvironment> {
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command in this process; no name has an address unless the test says so. */
export function run(args: readonly string[], { env = {}, ...changed }: Surroundings = {}): Run {
  const output = { stdout: "", stderr: "" };
  const abort = new AbortController();
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
    signal: abort.signal,
    env,
  };
  const environment: RolloutEnvironment = {
    screen: () => undefined,
    nowMs: () => CONNECTED_MS + 90_000,
    random: () => 0,
    answerTimeoutMs: WAIT_MS,
    lookupIntervalMs: WAIT_MS,
    resolve: () => Promise.resolve([]),
    ...changed,
  };
  return { ended: runRollout(context, args, environment), output, abort };
}
