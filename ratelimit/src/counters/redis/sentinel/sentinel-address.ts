// Parses KVSTORE_URL for the type sentinel: the name of the primary, and the addresses of its
// sentinels.
import { type Credentials, type RedisAddress, parseAddressList, parseAuth } from "../address.ts";
import type { RedisServerOptions } from "../options.ts";

/** Port of a sentinel that names none. */
const SENTINEL_PORT = 26_379;

/** The message of envoyproxy/ratelimit for a list that is too short. */
const FORMAT_PROBLEM =
  "Expected master name and a list of urls for the sentinels, in the format: <redis master name>,<sentinel1>,...,<sentineln>";

/** A primary and the sentinels that watch it. */
export interface SentinelAddress {
  /** The name of the primary for the sentinels. */
  readonly primaryName: string;
  /** At least one. */
  readonly sentinels: readonly RedisAddress[];
  /** Credentials for the primary, which the sentinels do not have. */
  readonly auth: Credentials | undefined;
  /** The whole for messages, without credentials. */
  readonly text: string;
}

/** The address, or what is wrong with the settings: a text without secrets. */
export function parseSentinelAddress(
  options: Pick<RedisServerOptions, "url" | "auth" | "sentinelAuth">,
): { readonly ok: true; readonly address: SentinelAddress } | { readonly ok: false; readonly problem: string } {
  const list = options.url.reveal();
  const comma = list.indexOf(",");
  if (comma === -1) return { ok: false, problem: FORMAT_PROBLEM };
  const primaryName = list.slice(0, comma).trim();
  // Messages may contain a name, but not what looks like an address with credentials.
  if (primaryName === "" || /[\s@/]/.test(primaryName)) return { ok: false, problem: FORMAT_PROBLEM };
  const sentinelAuth = options.sentinelAuth && parseAuth(options.sentinelAuth);
  const sentinelsNow = (): string => options.url.reveal().slice(options.url.reveal().indexOf(",") + 1);
  const parsed = parseAddressList(sentinelsNow, sentinelAuth, SENTINEL_PORT);
  if (!parsed.ok) return { ok: false, problem: `${FORMAT_PROBLEM}; ${parsed.problem}` };
  const sentinels = parsed.addresses;
  const text = [primaryName, ...sentinels.map((sentinel) => sentinel.text)].join(",");
  return { ok: true, address: { primaryName, sentinels, auth: options.auth && parseAuth(options.auth), text } };
}
