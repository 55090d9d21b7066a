// Client of the rollout API of one replica, in Connect's protocol over HTTP/1.1.
import { ADDRCONFIG } from "node:dns";
import { lookup } from "node:dns/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { DescService } from "@bufbuild/protobuf";
import { Backoff } from "@weir/common/backoff/backoff";
import type { Env } from "@weir/common/settings/read-env";
import { type Rollout, RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { RolloutArguments } from "./arguments.ts";
import { type Credentials, readCredentials } from "./credentials.ts";
import { explainFailure } from "./failure.ts";
import { proxyFor, proxyName } from "./proxy.ts";
import type { ServerAccess } from "./server-access.ts";

/** Largest answer, in bytes: thousands of resources and pods. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** The error of the kubelet, in words of the container runtime, when nothing listens on a port. */
const NOTHING_LISTENS = /the kubelet says ".*connection refused/is;

/** Waits before a busy replica is asked again, in milliseconds. */
const BUSY_BACKOFF = { initialMs: 250, maxMs: 2_000, factor: 1, jitter: true } as const;

/** The address of one replica. */
export interface Target {
  /** The server as on the command line, with the address when the name has several. */
  readonly label: string;
  readonly url: string;
  /** Name and port of the command line, if the URL has an address: for certificates and proxies. */
  readonly named?: { readonly name: string; readonly host: string };
  /** The URL of the proxy. */
  readonly proxy?: string;
  /** Opens the connection, where the URL does not lead to the replica; the signal ends an attempt. */
  readonly open?: (signal: AbortSignal) => Promise<Duplex>;
  /** Asked where nothing listens at this one, with what the user should know then. */
  readonly fallback?: Target & { readonly notice: string };
}

/** A request. */
export interface Question {
  readonly filter: Pick<RolloutArguments["filter"], "fleet" | "namespace" | "name">;
  readonly access: ServerAccess;
  readonly signal: AbortSignal;
  /** Longest wait for an answer, in milliseconds; of a watch, for the first one. */
  readonly answerTimeoutMs: number;
  /** Receives what the user should know of a replica that answers; may be called again. */
  readonly notice: (text: string) => void;
}

/** The answer of one replica, or why there is none. */
export type Answer = { readonly rollout: Rollout } | { readonly error: string };

/** A client of a service of a replica. */
interface Connection<Service extends DescService> {
  readonly client: Client<Service>;
  readonly headers: Headers;
  readonly close: () => void;
}

export interface FindDeps {
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Names the proxies. */
  readonly env: Env;
  /** Finds the replicas itself, in place of servers. */
  readonly findReplicas?: (() => Promise<readonly Target[]>) | undefined;
}

/**
 * All addresses of the servers' names. A name that cannot be resolved stays one target, and a
 * request to it explains why; so does one behind a proxy, which resolves it itself.
 */
export async function findTargets(
  servers: readonly string[],
  { resolve, env, findReplicas }: FindDeps,
): Promise<readonly Target[]> {
  if (findReplicas !== undefined) return await findReplicas();
  const found = await Promise.all(
    servers.map(async (server) => {
      const proxy = proxyFor(server, env);
      return proxy === undefined ? await targetsOf(server, resolve) : [{ label: server, url: server, proxy }];
    }),
  );
  return found.flat();
}

/** Gets the rollout once; a busy replica is asked again within the time. */
export async function askOnce(
  target: Target,
  question: Question,
  deps: { readonly random: () => number },
): Promise<Answer> {
  const answer = await askTarget(target, question, deps);
  const { fallback } = target;
  if (fallback === undefined || !("error" in answer) || !NOTHING_LISTENS.test(answer.error)) return answer;
  const other = await askTarget(fallback, question, deps);
  if ("error" in other) return { error: `${other.error}; ${fallback.notice}` };
  question.notice(fallback.notice);
  return other;
}

async function askTarget(
  target: Target,
  question: Question,
  { random }: { readonly random: () => number },
): Promise<Answer> {
  const { filter, access, signal, answerTimeoutMs } = question;
  const connection = connect(target, access, RolloutService);
  if (typeof connection === "string") return { error: connection };
  const { client, headers, close } = connection;
  try {
    const backoff = new Backoff({ ...BUSY_BACKOFF, random });
    const endMs = performance.now() + answerTimeoutMs;
    for (let leftMs = answerTimeoutMs; ; leftMs = Math.ceil(endMs - performance.now())) {
      try {
        const { rollout } = await client.getRollout({ filter }, { signal, headers, timeoutMs: leftMs });
        return rollout === undefined ? { error: `${target.label} answers without a rollout` } : { rollout };
      } catch (error) {
        const waitMs = backoff.nextMs();
        if (!isBusy(error) || performance.now() + waitMs >= endMs) throw error;
        await pause(waitMs, undefined, { signal });
      }
    }
  } catch (error) {
    return { error: explainFailure(nameOf(target), error, answerTimeoutMs) };
  } finally {
    close();
  }
}

/** Returns true if the server asks for a later attempt; a too large answer fails with the same code. */
function isBusy(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.ResourceExhausted && error.metadata.has("retry-after");
}

/** Reports each state until the connection ends or the signal aborts; resolves with the reason. */
export async function watchReplica(
  target: Target,
  question: Question,
  report: (rollout: Rollout) => void,
): Promise<string> {
  const reason = await watchTarget(target, question, report);
  const { fallback } = target;
  if (fallback === undefined || !NOTHING_LISTENS.test(reason)) return reason;
  const other = await watchTarget(fallback, question, (rollout) => {
    question.notice(fallback.notice);
    report(rollout);
  });
  return `${other}; ${fallback.notice}`;
}

async function watchTarget(target: Target, question: Question, report: (rollout: Rollout) => void): Promise<string> {
  const { filter, access, answerTimeoutMs } = question;
  const connection = connect(target, access, RolloutService);
  if (typeof connection === "string") return connection;
  const { client, headers, close } = connection;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), answerTimeoutMs);
  const signal = AbortSignal.any([question.signal, silence.signal]);
  try {
    for await (const { rollout } of client.watchRollout({ filter }, { signal, headers })) {
      clearTimeout(timer);
      if (rollout !== undefined) report(rollout);
    }
    return `${target.label} ended the connection`;
  } catch (error) {
    if (silence.signal.aborted) return `Cannot reach ${nameOf(target)}: no answer within ${answerTimeoutMs / 1000} s`;
    return explainFailure(nameOf(target), error, answerTimeoutMs);
  } finally {
    clearTimeout(timer);
    close();
  }
}

async function targetsOf(
  server: string,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<readonly Target[]> {
  const url = new URL(server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await resolve(host) : [];
  // The two addresses of localhost are one machine; Node tries both.
  if (addresses.length < 2 || addresses.every(isLoopback)) return [{ label: server, url: server }];
  return addresses.map((address) => {
    const at = new URL(server);
    at.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return { label: `${server} (${address})`, url: at.href.replace(/\/+$/, ""), named: { name: host, host: url.host } };
  });
}

/** Every address of a name; none when it cannot be looked up. */
export async function resolveAll(host: string): Promise<readonly string[]> {
  try {
    // Only address families that this machine has a network for.
    return (await lookup(host, { all: true, hints: ADDRCONFIG })).map(({ address }) => address);
  } catch {
    return []; // The request fails with the same error, and reports it.
  }
}

function isLoopback(address: string): boolean {
  return address === "::1" || address === "127.0.0.1";
}

/** The headers of a request; the command line may set another host. */
function headersOf({ named }: Target, credentials: Credentials): Headers {
  const headers = new Headers(credentials.headers.map(([name, value]): [string, string] => [name, value]));
  if (named !== undefined && !headers.has("host")) headers.set("host", named.host);
  return headers;
}

/** The server and its proxy, for messages. */
export function nameOf({ label, proxy }: Target): string {
  return proxy === undefined ? label : `${label} through the proxy ${proxyName(proxy)}`;
}

/** Sends requests over streams of its own. Each is for one request: a stream has no probes of TCP. */
class OpeningAgent extends HttpAgent {
  readonly #open: (signal: AbortSignal) => Promise<Duplex>;
  readonly #destroyed = new AbortController();

  constructor(open: (signal: AbortSignal) => Promise<Duplex>) {
    super({ keepAlive: false });
    this.#open = open;
  }

  override createConnection(
    _options: object,
    opened?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | undefined {
    this.#open(this.#destroyed.signal).then(
      (stream) => opened?.(null, stream),
      (error: unknown) => opened?.(error instanceof Error ? error : new Error(String(error)), undefined as never),
    );
    return undefined;
  }

  override destroy(): void {
    this.#destroyed.abort();
    super.destroy();
  }
}

/** Opens connections to a target, until it is destroyed; a text is the problem with a file. */
export function openAgent(
  target: Target,
  access: ServerAccess,
): { readonly agent: HttpAgent; readonly headers: Headers } | string {
  const { url, named, proxy, open } = target;
  const credentials = readCredentials(access, url);
  if (typeof credentials === "string") return credentials;
  const { secureContext } = credentials;
  const { hostname } = new URL(url);
  // Always set: Node would take it from a header `host`. Empty for an address, which the
  // certificate must still have.
  const servername = access.serverName ?? named?.name ?? (isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : "");
  // Notices a machine that is gone without closing its connections.
  const options = {
    keepAlive: true,
    ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  const agent =
    open !== undefined
      ? new OpeningAgent(open)
      : secureContext === undefined
        ? new HttpAgent(options)
        : new HttpsAgent({ ...options, secureContext, servername });
  return { agent, headers: headersOf(target, credentials) };
}

/** A client with its own connection, which `close` ends; a text is the problem with a file. */
export function connect<Service extends DescService>(
  target: Target,
  access: ServerAccess,
  service: Service,
): Connection<Service> | string {
  const opened = openAgent(target, access);
  if (typeof opened === "string") return opened;
  const { agent, headers } = opened;
  const transport = createConnectTransport({
    baseUrl: target.url,
    httpVersion: "1.1",
    nodeOptions: { agent },
    readMaxBytes: ANSWER_MAX_BYTES,
  });
  const client = createClient(service, transport);
  return { client, headers, close: () => agent.destroy() };
}
