// The configured nodes: the rest of the cluster is learned from them, and all nodes share their
// credentials.
import { addressOf, type RedisAddress, parseAddressList, parseAuth } from "../address.ts";
import type { RedisServerOptions } from "../options.ts";
import type { ClusterEndpoint } from "./endpoint.ts";

/** The configured nodes, at least one. */
export interface Seeds {
  readonly addresses: readonly [RedisAddress, ...RedisAddress[]];
  /** All of them for messages, without credentials. */
  readonly text: string;
}

/** The nodes in a comma-separated list, or what is wrong with it: a text without secrets. */
export function parseSeeds(
  options: Pick<RedisServerOptions, "url" | "auth">,
): { readonly ok: true; readonly seeds: Seeds } | { readonly ok: false; readonly problem: string } {
  const parsed = parseAddressList(() => options.url.reveal(), options.auth && parseAuth(options.auth));
  if (!parsed.ok) return parsed;
  const [first, ...others] = parsed.addresses;
  if (first === undefined) return { ok: false, problem: "it must name at least one node" };
  if (parsed.addresses.some(({ database }) => database !== 0))
    return { ok: false, problem: "a cluster has no database but 0" };
  return {
    ok: true,
    seeds: { addresses: [first, ...others], text: parsed.addresses.map(({ text }) => text).join(",") },
  };
}

/**
 * The address of a node that the cluster has reported, with the credentials of the first configured
 * node that has some, and with TLS if the first URL asks for it.
 */
export function nodeAddress({ addresses }: Seeds, endpoint: ClusterEndpoint): RedisAddress {
  const auth = addresses.find((address) => address.auth !== undefined)?.auth;
  return addressOf(endpoint, { isTls: addresses[0].isTls, auth, database: 0 });
}

/** The host of an address, for nodes that do not report their own. */
export function hostOf({ target }: RedisAddress): string {
  return target.kind === "tcp" ? target.host : "localhost";
}
