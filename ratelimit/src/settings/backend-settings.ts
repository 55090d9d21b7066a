// Settings of the counter backend. Each backend has only its own; those of one that this build does not have yet are refused in words.
import type { EnvReader, Names } from "@weir/common/settings/read-env";
import { REDACTED, Secret } from "@weir/common/settings/secret";

import { parseAddress } from "../counters/kvstore/address.ts";
import type { FailureMode } from "../decide/decider.ts";
import { type AltstoreBackendSettings, readAltstore, readNodeSource } from "./altstore-settings.ts";
import { readStoreTls, type StoreTlsSettings } from "./store-tls-settings.ts";

/** Counters in this process. */
export interface MemoryBackendSettings {
  readonly kind: "memory";
  /** MEMORY_MAX_KEYS; default 1000000. */
  readonly maxKeys: number;
}

/** Counters in a key-value store. */
export interface KvstoreBackendSettings {
  readonly kind: "kvstore";
  readonly main: KvstoreServerSettings;
  /** KVSTORE_PERSECOND; undefined = counters per second live on the main server, the default. */
  readonly perSecond: KvstoreServerSettings | undefined;
  /** TLS files, for both servers. */
  readonly tls: StoreTlsSettings;
  /** KVSTORE_COMMAND_TIMEOUT, in milliseconds; default 1 s. */
  readonly commandTimeoutMs: number;
  /** EXPIRATION_JITTER_MAX_SECONDS; default 300. */
  readonly expiryJitterMaxSeconds: number;
  /** KVSTORE_STARTUP_*, in milliseconds; 0 for `maxElapsedMs` waits for ever. */
  readonly startup: { readonly initialMs: number; readonly maxMs: number; readonly maxElapsedMs: number };
}

/** One server. */
export interface KvstoreServerSettings {
  readonly socketType: "unix" | "tcp";
  readonly url: Secret;
  readonly auth: Secret | undefined;
  readonly useTls: boolean;
  readonly poolSize: number;
  /** KVSTORE_TIMEOUT, in milliseconds; default 10 s. */
  readonly connectTimeoutMs: number;
}

/** The backend. */
export type BackendSettings = MemoryBackendSettings | KvstoreBackendSettings | AltstoreBackendSettings;

const DURATION_MIN_MS = 1;

/** Reads BACKEND_TYPE and the settings of every backend: a mistake in those of another one is told too. */
export function readBackendSettings(read: EnvReader): BackendSettings {
  const type = read.string("BACKEND_TYPE", {
    default: "kvstore",
    effect:
      "Where counters live: kvstore (or redis) is a key-value store; altstore (or memcache) is memcached; memory is this process, exact and without any server.",
  });
  const memory = readMemory(read);
  const kvstore = readKvstore(read);
  const altstore = readAltstore(read);
  switch (type) {
    case "memory":
      return memory;
    case "kvstore":
    case "redis":
      checkAddresses(read, kvstore);
      return kvstore;
    case "altstore":
    case "memcache":
      return {
        kind: "altstore",
        ...altstore,
        nodes: readNodeSource(read, altstore),
        expiryJitterMaxSeconds: kvstore.expiryJitterMaxSeconds,
        startMaxElapsedMs: kvstore.startup.maxElapsedMs,
      };
    default:
      read.problem("BACKEND_TYPE", type, "one of kvstore, redis, altstore, memcache, memory");
      return memory;
  }
}

/** Reads BACKEND_FAILURE_MODE, whose default depends on the backend. */
export function readFailureMode(read: EnvReader, backend: BackendSettings["kind"]): FailureMode {
  return read.oneOf("BACKEND_FAILURE_MODE", {
    default: backend === "altstore" ? "allow" : "error",
    choices: ["error", "allow", "deny"],
    effect:
      "What is answered when the counter store fails: an error, OK without a limit, or OVER_LIMIT. With altstore the default is allow, and then what cannot be read counts from 0.",
  });
}

function readMemory(read: EnvReader): MemoryBackendSettings {
  return {
    kind: "memory",
    maxKeys: read.integer("MEMORY_MAX_KEYS", {
      default: 1_000_000,
      min: 1,
      effect: "Most counters that the memory backend holds, about 150 bytes each; new keys beyond it fail.",
    }),
  };
}

function readKvstore(read: EnvReader): KvstoreBackendSettings {
  const main = readServer(read, "", { url: "/var/run/nutcracker/ratelimit.sock", what: "the counter store" });
  const hasPerSecond = read.boolean(names("PERSECOND"), { default: false, effect: "Counters per second live on a server of their own." });
  const perSecond = readServer(read, "PERSECOND_", {
    url: "/var/run/nutcracker/ratelimitpersecond.sock",
    what: "the store of counters per second",
  });
  return {
    kind: "kvstore",
    main,
    perSecond: hasPerSecond ? perSecond : undefined,
    tls: readStoreTls(read, { names, stores: "the stores" }),
    commandTimeoutMs: read.durationMs("KVSTORE_COMMAND_TIMEOUT", {
      default: "1s",
      minMs: DURATION_MIN_MS,
      isTimer: true,
      effect: "Longest wait of a call for the counter store.",
    }),
    expiryJitterMaxSeconds: read.integer("EXPIRATION_JITTER_MAX_SECONDS", {
      default: 300,
      min: 0,
      max: 2 ** 31 - 1,
      effect: "A random number of seconds below this is added to each expiry.",
    }),
    startup: readStartup(read),
  };
}

/** A setting by its primary name and that of the field. */
function names(suffix: string): Names {
  return [`KVSTORE_${suffix}`, `REDIS_${suffix}`];
}

/** The deployment type of a server. */
function readType(read: EnvReader, name: Names): void {
  const type = read.string(name, { default: "single", effect: "Deployment type of the store: single." });
  if (type.toLowerCase() === "single") return;
  const isKnown = ["sentinel", "cluster"].includes(type.toLowerCase());
  read.problem(primaryOf(name), type, isKnown ? "single: this build does not have the types sentinel and cluster yet" : "single");
}

function readServer(read: EnvReader, prefix: string, { url, what }: { url: string; what: string }): KvstoreServerSettings {
  const name = (suffix: string): Names => names(`${prefix}${suffix}`);
  readType(read, name("TYPE"));
  return {
    socketType: read.oneOf(name("SOCKET_TYPE"), {
      default: "unix",
      choices: ["unix", "tcp"],
      ignoreCase: true,
      effect: `How ${what} is reached.`,
    }),
    url:
      read.secret(name("URL"), { effect: `Address of ${what}: a path, host:port, or redis://user:password@host:port/database.` }) ??
      new Secret(url),
    auth: read.secret(name("AUTH"), { effect: `Password of ${what}, or user:password.` }),
    useTls: read.boolean(name("TLS"), { default: false, effect: `TLS to ${what}.` }),
    poolSize: read.integer(name("POOL_SIZE"), { default: 10, min: 1, max: 1000, effect: `Connections to ${what}.` }),
    connectTimeoutMs: read.durationMs(name("TIMEOUT"), {
      default: "10s",
      minMs: DURATION_MIN_MS,
      isTimer: true,
      effect: `Longest wait for a connection to ${what}.`,
    }),
  };
}

function readStartup(read: EnvReader): KvstoreBackendSettings["startup"] {
  const initialMs = read.durationMs(names("STARTUP_INITIAL_INTERVAL"), {
    default: "1s",
    minMs: DURATION_MIN_MS,
    isTimer: true,
    effect: "First wait at start after a store could not be reached; each further one is twice as long.",
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
      effect: "When the start gives up waiting for the stores and the process ends; 0 waits for ever.",
    }),
  };
}

function checkAddresses(read: EnvReader, { main, perSecond }: KvstoreBackendSettings): void {
  checkAddress(read, "KVSTORE_URL", main);
  if (perSecond !== undefined) checkAddress(read, "KVSTORE_PERSECOND_URL", perSecond);
}

function checkAddress(read: EnvReader, name: string, server: KvstoreServerSettings): void {
  const parsed = parseAddress(server);
  // An address may hold a password, so it is not shown.
  if (!parsed.ok) read.problem(name, REDACTED, `an address of the store; ${parsed.problem}`);
}

function primaryOf(name: Names): string {
  return typeof name === "string" ? name : name[0];
}
