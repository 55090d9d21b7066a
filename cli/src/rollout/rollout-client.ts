// Asks one replica of the control plane by the rollout API, in Connect's protocol over HTTP/1.1. It retries nothing and merges nothing.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describeError } from "@weir/common/errors/service-error";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { RolloutArguments } from "./arguments.ts";

/** Longest wait for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Largest answer that is read, in bytes: thousands of resources and pods. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** One replica to ask. */
export interface Target {
  /** As the user wrote the server, with the address when the name has several. */
  readonly label: string;
  readonly url: string;
  /** The name in the server's certificate, when the URL holds an address instead. */
  readonly serverName?: string;
}

/** What one replica answered, or why it did not. */
export type Answer = { readonly rollout: Rollout } | { readonly error: string };

/** Everything that the servers' names stand for. A name that cannot be resolved stays one target, and asking it tells why. */
export async function findTargets(
  servers: readonly string[],
  resolve: (host: string) => Promise<readonly string[]> = resolveAll,
): Promise<readonly Target[]> {
  const found = await Promise.all(servers.map(async (server) => targetsOf(server, resolve)));
  return found.flat();
}

/** Asks once. */
export async function askOnce(target: Target, filter: RolloutArguments["filter"], signal: AbortSignal): Promise<Answer> {
  try {
    const { rollout } = await clientOf(target).getRollout({ filter }, { signal, timeoutMs: ANSWER_TIMEOUT_MS });
    return rollout === undefined ? { error: `${target.label} answers without a rollout` } : { rollout };
  } catch (error) {
    return { error: explainFailure(target, error) };
  }
}

/** Listens until the connection ends or the signal comes; each state goes to `tell`. Resolves with why it ended. */
export async function listen(
  target: Target,
  options: { readonly filter: RolloutArguments["filter"]; readonly signal: AbortSignal; readonly tell: (rollout: Rollout) => void },
): Promise<string> {
  try {
    for await (const { rollout } of clientOf(target).watchRollout({ filter: options.filter }, { signal: options.signal })) {
      if (rollout !== undefined) options.tell(rollout);
    }
    return `${target.label} ended the connection`;
  } catch (error) {
    return explainFailure(target, error);
  }
}

async function targetsOf(server: string, resolve: (host: string) => Promise<readonly string[]>): Promise<readonly Target[]> {
  const url = new URL(server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await resolve(host) : [];
  // The two addresses of localhost are one machine; Node tries both by itself.
  if (addresses.length < 2 || addresses.every(isLoopback)) return [{ label: server, url: server }];
  return addresses.map((address) => {
    const at = new URL(server);
    at.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return { label: `${server} (${address})`, url: at.href.replace(/\/+$/, ""), serverName: host };
  });
}

async function resolveAll(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // Asking the server will say the same, in the place where failures are told.
  }
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}

function clientOf({ url, serverName }: Target): ReturnType<typeof createClient<typeof RolloutService>> {
  const nodeOptions = serverName === undefined || !url.startsWith("https:") ? {} : { servername: serverName };
  return createClient(
    RolloutService,
    createConnectTransport({ baseUrl: url, httpVersion: "1.1", nodeOptions, readMaxBytes: ANSWER_MAX_BYTES }),
  );
}

function explainFailure(target: Target, error: unknown): string {
  const failure = ConnectError.from(error);
  switch (failure.code) {
    case Code.Unimplemented:
    case Code.Unknown:
      return `${target.label} answers, but not as a rollout API: is it the HTTP port of a control plane? (${failure.rawMessage})`;
    case Code.DeadlineExceeded:
      return `Cannot reach ${target.label}: no answer within ${ANSWER_TIMEOUT_MS / 1000} s`;
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Internal:
    case Code.Canceled:
      return `Cannot reach ${target.label}: ${reasonOf(failure)}`;
    default:
      return `${target.label} refuses: ${failure.rawMessage}`;
  }
}

function reasonOf(failure: ConnectError): string {
  const text = describeError(failure.cause ?? failure.rawMessage);
  const reasons: readonly (readonly [RegExp, string])[] = [
    [/ECONNREFUSED/, "connection refused"],
    [/ENOTFOUND|EAI_AGAIN/, "its name has no address"],
    [/ECONNRESET|socket hang up/, "the connection broke"],
    [/EHOSTUNREACH|ENETUNREACH/, "no route to it"],
    [/ETIMEDOUT/, "connecting took too long"],
  ];
  const known = reasons.find(([pattern]) => pattern.test(text))?.[1];
  return known === undefined ? text : `${known} (${text})`;
}
