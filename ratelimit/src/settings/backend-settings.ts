// Settings of the counter backend: its type, and the answer to a call when it fails.
import type { EnvReader } from "@weir/common/settings/read-env";

import type { FailureMode } from "../decide/decider.ts";
import { type MemcachedBackendSettings, readMemcached } from "./memcached-settings.ts";
import { type RedisBackendSettings, readRedis } from "./redis-settings.ts";

/** Counters in this process. */
export interface MemoryBackendSettings {
  readonly kind: "memory";
  /** MEMORY_MAX_KEYS; default 1000000. */
  readonly maxKeys: number;
}

export type BackendSettings = MemoryBackendSettings | RedisBackendSettings | MemcachedBackendSettings;

/** The kind of backend by value of BACKEND_TYPE. */
const KINDS: Readonly<Record<string, BackendSettings["kind"]>> = {
  kvstore: "kvstore",
  redis: "kvstore",
  altstore: "altstore",
  memcache: "altstore",
  memory: "memory",
};

/**
 * Reads BACKEND_TYPE and the settings of every backend, so that a mistake in any of them is
 * reported.
 */
export function readBackendSettings(read: EnvReader): BackendSettings {
  const type = read.string("BACKEND_TYPE", {
    default: "kvstore",
    effect:
      "Where counters are stored: kvstore (or redis) is a key-value store; altstore (or memcache) is memcached; memory is this process, exact and without a server.",
  });
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (kind === undefined) read.problem("BACKEND_TYPE", type, `one of ${Object.keys(KINDS).join(", ")}`);
  const memory = readMemory(read);
  const kvstore = readRedis(read, kind === "kvstore");
  const { expiryJitterMaxSeconds, startup } = kvstore;
  const shared = { expiryJitterMaxSeconds, startMaxElapsedMs: startup.maxElapsedMs };
  const altstore = readMemcached(read, shared, kind === "altstore");
  return { memory, kvstore, altstore }[kind ?? "memory"];
}

/** Reads BACKEND_FAILURE_MODE, whose default depends on the backend. */
export function readFailureMode(read: EnvReader, backend: BackendSettings["kind"]): FailureMode {
  return read.oneOf("BACKEND_FAILURE_MODE", {
    default: backend === "altstore" ? "allow" : "error",
    choices: ["error", "allow", "deny"],
    effect:
      "The answer to a call when the counter store fails: an error, OK without a limit, or OVER_LIMIT. With altstore the default is allow, and counts that cannot be read start from 0.",
  });
}

function readMemory(read: EnvReader): MemoryBackendSettings {
  return {
    kind: "memory",
    maxKeys: read.integer("MEMORY_MAX_KEYS", {
      default: 1_000_000,
      min: 1,
      effect: "Most counters of the memory backend, about 100 bytes each; new keys beyond it fail.",
    }),
  };
}
