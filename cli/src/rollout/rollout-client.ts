// Asks one replica of the control plane by the rollout API, in Connect's protocol over HTTP/1.1. It
// asks again only where the replica says so, and merges nothing.
import { ADDRCONFIG } from "node:dns";
import { lookup } from "node:dns/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Backoff } from "@weir/common/backoff/backoff";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import type { Env } from "@weir/common/settings/read-env";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { ServerAccess } from "./access-arguments.ts";
import type { RolloutArguments } from "./arguments.ts";
import { type Credentials, readCredentials } from "./credentials.ts";
import { explainFailure } from "./failure.ts";
import { proxyFor, proxyName } from "./proxy.ts";

/** Largest answer that is read, in bytes: thousands of resources and pods. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Waits until a replica is asked again that has too much to answer, in milliseconds: that takes it
 * some moments.
 */
const BUSY_BACKOFF = { initialMs: 250, maxMs: 2_000, factor: 1, jitter: true } as const;

/** One replica to ask. */
export interface Target {
  /** As the user wrote the server, with the address when the name has several. */
  readonly label: string;
  readonly url: string;
  /**
   * Name and port as the user wrote them, when the URL holds an address instead: for the server's
   * certificate, and for proxies before it.
   */
  readonly named?: { readonly name: string; readonly host: string };
  /** The URL of the proxy through which it is asked. */
  readonly proxy?: string;
}

/** What is asked, and how. */
export interface Question {
  readonly filter: Pick<RolloutArguments["filter"], "fleet" | "namespace" | "name">;
  readonly access: ServerAccess;
  readonly signal: AbortSignal;
  /** Longest wait for an answer, in milliseconds; of a watch, for the first one. */
  readonly answerTimeoutMs: number;
}

/** What one replica answered, or why it did not. */
export type Answer = { readonly rollout: Rollout } | { readonly error: string };

interface Connection {
  readonly client: ReturnType<typeof createClient<typeof RolloutService>>;
  readonly close: () => void;
}

/**
 * Everything that the servers' names stand for. A name that cannot be resolved stays one target,
 * and asking it tells why; so does one that is asked through a proxy, which looks it up by itself.
 */
export async function findTargets(
  servers: readonly string[],
  { resolve, env }: { readonly resolve: (host: string) => Promise<readonly string[]>; readonly env: Env },
): Promise<readonly Target[]> {
  const found = await Promise.all(
    servers.map(async (server) => {
      const proxy = proxyFor(server, env);
      return proxy === undefined ? await targetsOf(server, resolve) : [{ label: server, url: server, proxy }];
    }),
  );
  return found.flat();
}

/**
 * Asks for one answer; a replica that has too much to answer, and says so, is asked again while the
 * time lasts.
 */
export async function askOnce(
  target: Target,
  question: Question,
  { random }: { readonly random: () => number },
): Promise<Answer> {
  const { filter, access, signal, answerTimeoutMs } = question;
  const credentials = readCredentials(access, target.url);
  if (typeof credentials === "string") return { error: credentials };
  const { client, close } = connect(target, access, credentials);
  try {
    const headers = headersOf(target, credentials);
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
    return { error: explainFailure(wayTo(target), error, answerTimeoutMs) };
  } finally {
    close();
  }
}

/**
 * Whether the server means to answer later; an answer that is larger than what is read fails with
 * the same code.
 */
function isBusy(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.ResourceExhausted && error.metadata.has("retry-after");
}

/**
 * Listens until the connection ends or the signal comes; each state goes to `tell`. Resolves with
 * why it ended.
 */
export async function listen(target: Target, question: Question, tell: (rollout: Rollout) => void): Promise<string> {
  const { filter, access, answerTimeoutMs } = question;
  const credentials = readCredentials(access, target.url);
  if (typeof credentials === "string") return credentials;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), answerTimeoutMs);
  const signal = AbortSignal.any([question.signal, silence.signal]);
  const { client, close } = connect(target, access, credentials);
  try {
    for await (const { rollout } of client.watchRollout(
      { filter },
      { signal, headers: headersOf(target, credentials) },
    )) {
      clearTimeout(timer);
      if (rollout !== undefined) tell(rollout);
    }
    return `${target.label} ended the connection`;
  } catch (error) {
    if (silence.signal.aborted) return `Cannot reach ${wayTo(target)}: no answer within ${answerTimeoutMs / 1000} s`;
    return explainFailure(wayTo(target), error, answerTimeoutMs);
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
  // The two addresses of localhost are one machine; Node tries both by itself.
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
    // Without addresses of a kind that this machine has no network for.
    return (await lookup(host, { all: true, hints: ADDRCONFIG })).map(({ address }) => address);
  } catch {
    return []; // Asking the server will say the same, in the place where failures are told.
  }
}

function isLoopback(address: string): boolean {
  return address === "::1" || address === "127.0.0.1";
}

/** What a request carries; the user may say another host. */
function headersOf({ named }: Target, credentials: Credentials): Headers {
  const headers = new Headers(credentials.headers.map(([name, value]): [string, string] => [name, value]));
  if (named !== undefined && !headers.has("host")) headers.set("host", named.host);
  return headers;
}

/** The server in messages: what goes wrong on the way may be its proxy's. */
function wayTo({ label, proxy }: Target): string {
  return proxy === undefined ? label : `${label} through the proxy ${proxyName(proxy)}`;
}

/** A client with a connection of its own, which `close` ends. */
function connect({ url, named, proxy }: Target, access: ServerAccess, { secureContext }: Credentials): Connection {
  const { hostname } = new URL(url);
  // Always said, because Node would take it from a header `host`. An address is no name to ask for;
  // the certificate must be for it all the same.
  const servername = access.serverName ?? named?.name ?? (isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : "");
  // So that a machine that is gone without a word is noticed some day.
  const options = {
    keepAlive: true,
    ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  const agent =
    secureContext === undefined ? new HttpAgent(options) : new HttpsAgent({ ...options, secureContext, servername });
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    nodeOptions: { agent },
    readMaxBytes: ANSWER_MAX_BYTES,
  });
  return { client: createClient(RolloutService, transport), close: () => agent.destroy() };
}
