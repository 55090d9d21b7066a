// Settings of the Redis backend: its one or two deployments and how they are reached.
import type { EnvReader, Names } from "@weir/common/settings/read-env";
import { REDACTED, Secret } from "@weir/common/settings/secret";

import { parseAddress } from "../counters/redis/address.ts";
import { parseSeeds } from "../counters/redis/cluster/seeds.ts";
import { parseSentinelAddress } from "../counters/redis/sentinel/sentinel-address.ts";
import type { RedisCounterOptions, RedisServerOptions } from "../counters/redis/options.ts";
import { readStoreTls, type StoreTlsSettings } from "./tls-settings.ts";

/** Counters in a key-value store: the options of the backend, and its TLS as files. */
export interface RedisBackendSettings extends Omit<RedisCounterOptions, "main" | "perSecond"> {
  readonly kind: "kvstore";
  readonly main: RedisServerSettings;
  /** KVSTORE_PERSECOND; undefined = counters per second are on the main server, the default. */
  readonly perSecond: RedisServerSettings | undefined;
  /** TLS files, for both servers. */
  readonly tls: StoreTlsSettings;
}

/** The options of one deployment without its certificates. */
export interface RedisServerSettings extends Omit<RedisServerOptions, "tls"> {
  readonly useTls: boolean;
}

const DURATION_MIN_MS = 1;

/** The parser of the address of each type. */
const PARSERS = { single: parseAddress, sentinel: parseSentinelAddress, cluster: parseSeeds } as const;

/** Values of KVSTORE_POOL_ON_EMPTY_BEHAVIOR that envoyproxy/ratelimit refuses too. */
const UNSUPPORTED_EMPTY_POOL_BEHAVIORS = ["CREATE", "ERROR"];

/**
 * Reads the settings. Addresses are checked only when the backend is selected, because the default
 * is a socket that need not exist.
 */
export function readRedis(read: EnvReader, isSelected: boolean): RedisBackendSettings {
  const main = readServer(read, "", { url: "/var/run/nutcracker/ratelimit.sock", what: "the counter store" });
  const hasPerSecond = read.boolean(names("PERSECOND"), {
    default: false,
    effect: "Stores counters per second on a server of their own.",
  });
  const perSecond = readServer(read, "PERSECOND_", {
    url: "/var/run/nutcracker/ratelimitpersecond.sock",
    what: "the store of counters per second",
  });
  if (isSelected) checkAddress(read, "KVSTORE_URL", main);
  if (isSelected && hasPerSecond) checkAddress(read, "KVSTORE_PERSECOND_URL", perSecond);
  return {
    kind: "kvstore",
    main,
    perSecond: hasPerSecond ? perSecond : undefined,
    tls: readStoreTls(read, { names, stores: "the stores" }),
    commandTimeoutMs: read.durationMs("KVSTORE_COMMAND_TIMEOUT", {
      default: "1s",
      minMs: DURATION_MIN_MS,
      isTimer: true,
      effect:
        "Longest wait of a call for the counter store. A server that is silent for so long fails further calls immediately, until it replies to a write that changes nothing; it is sent one every 100 ms.",
    }),
    expiryJitterMaxSeconds: read.integer("EXPIRATION_JITTER_MAX_SECONDS", {
      default: 300,
      min: 0,
      max: 2 ** 31 - 1,
      effect: "A random number of seconds below this is added to each expiry.",
    }),
    usesScripts:
      read.oneOf("LIMIT_SCRIPTS", {
        default: "on",
        choices: ["on", "off"],
        effect:
          "Whether scripts count what INCRBY cannot: sliding windows, token buckets, lists of limits, fixed windows that do not count rejected hits, and hits given back. " +
          "With off such limits are counted approximately by INCRBY, for a store whose user may not run EVAL, and hits are not given back.",
      }) === "on",
    startup: readStartup(read),
  };
}

/** The name of a setting, and its name in envoyproxy/ratelimit. */
function names(suffix: string): Names {
  return [`KVSTORE_${suffix}`, `REDIS_${suffix}`];
}

function readServer(
  read: EnvReader,
  prefix: string,
  { url, what }: { url: string; what: string },
): RedisServerSettings {
  const name = (suffix: string): Names => names(`${prefix}${suffix}`);
  refuseEmptyPoolBehavior(read, name("POOL_ON_EMPTY_BEHAVIOR"), what);
  return {
    type: read.oneOf(name("TYPE"), {
      default: "single",
      choices: ["single", "sentinel", "cluster"],
      ignoreCase: true,
      effect: `Deployment type of ${what}.`,
    }),
    socketType: read.oneOf(name("SOCKET_TYPE"), {
      default: "unix",
      choices: ["unix", "tcp"],
      ignoreCase: true,
      effect: `How ${what} is reached where its type is single; the other types are reached by tcp.`,
    }),
    url:
      read.secret(name("URL"), {
        effect:
          `Address of ${what}, ${url} when not set. Type single: a path, host:port, or redis://user:password@host:port/database. ` +
          "Type sentinel: the name of the primary and the sentinels, such as mymaster,host:port,host:port. Type cluster: nodes, such as host:port,host:port.",
      }) ?? new Secret(url),
    auth: read.secret(name("AUTH"), { effect: `Password of ${what}, or user:password.` }),
    sentinelAuth: read.secret(name("SENTINEL_AUTH"), {
      effect: `Password of the sentinels of ${what}, or user:password.`,
    }),
    useTls: read.boolean(name("TLS"), { default: false, effect: `TLS to ${what}, and to its sentinels.` }),
    poolSize: read.integer(name("POOL_SIZE"), {
      default: 10,
      min: 1,
      max: 1000,
      effect: `Connections to ${what}, in a cluster to each node.`,
    }),
    pipeline: readPipeline(read, name, what),
    clusterPipelineParallelism: read.integer(name("CLUSTER_PIPELINE_PARALLELISM"), {
      default: 1,
      min: 0,
      effect: `Most groups of commands of a call in flight to ${what} where its type is cluster; 0 is the size of the pool.`,
    }),
    connectTimeoutMs: read.durationMs(name("TIMEOUT"), {
      default: "10s",
      minMs: DURATION_MIN_MS,
      isTimer: true,
      effect: `Longest wait for a connection to ${what}.`,
    }),
  };
}

function readPipeline(read: EnvReader, name: (suffix: string) => Names, what: string): RedisServerSettings["pipeline"] {
  return {
    windowMs: read.durationMs(name("PIPELINE_WINDOW"), {
      default: "0",
      isTimer: true,
      effect:
        `Flush interval of the batches of commands for ${what}; 0 flushes at the end of each event-loop turn. ` +
        "A window below 1ms ends early with the first event-loop turn that brings no further command.",
    }),
    limit: read.integer(name("PIPELINE_LIMIT"), {
      default: 0,
      min: 0,
      effect: `Most commands in a batch for ${what}, an increment and its expiry counted as one; 0 is no limit.`,
    }),
  };
}

/** Reports values that ask for another behavior than waiting; other values have no effect. */
function refuseEmptyPoolBehavior(read: EnvReader, name: Names, what: string): void {
  const behavior = read.string(name, {
    default: "WAIT",
    effect: `Behavior of a call while no connection to ${what} is open: it waits, within its time limit. CREATE and ERROR are not supported.`,
  });
  if (UNSUPPORTED_EMPTY_POOL_BEHAVIORS.includes(behavior.toUpperCase())) {
    read.problem(
      name,
      behavior,
      "WAIT: connections are shared, so a call neither opens one of its own nor fails without one",
    );
  }
}

function readStartup(read: EnvReader): RedisBackendSettings["startup"] {
  const initialMs = read.durationMs(names("STARTUP_INITIAL_INTERVAL"), {
    default: "1s",
    minMs: DURATION_MIN_MS,
    isTimer: true,
    effect: "First wait at start after a store could not be reached; each further wait is twice as long.",
  });
  const maxMs = read.durationMs(names("STARTUP_MAX_INTERVAL"), {
    default: "30s",
    minMs: DURATION_MIN_MS,
    isTimer: true,
    effect: "Longest such wait.",
  });
  return {
    initialMs,
    maxMs: Math.max(initialMs, maxMs),
    maxElapsedMs: read.durationMs(names("STARTUP_MAX_ELAPSED_TIME"), {
      default: "0",
      isTimer: true,
      effect: "Longest wait for the stores at start, after which the process ends; 0 waits indefinitely.",
    }),
  };
}

function checkAddress(read: EnvReader, name: string, server: RedisServerSettings): void {
  const parsed = PARSERS[server.type](server);
  // An address may hold a password, so it is not shown.
  if (!parsed.ok) read.problem(name, REDACTED, `an address of the store; ${parsed.problem}`);
}
