// Settings of the counter backend: which one is in use, and what is answered when it fails. Each
// backend has a file of its own for its settings.
import type { EnvReader } from "@weir/common/settings/read-env";

import type { FailureMode } from "../decide/decider.ts";
import { type AltstoreBackendSettings, readAltstore, readNodeSource } from "./altstore-settings.ts";
import { checkAddresses, type KvstoreBackendSettings, readKvstore } from "./kvstore-settings.ts";

/** Counters in this process. */
export interface MemoryBackendSettings {
  readonly kind: "memory";
  /** MEMORY_MAX_KEYS; default 1000000. */
  readonly maxKeys: number;
}

/** The backend. */
export type BackendSettings = MemoryBackendSettings | KvstoreBackendSettings | AltstoreBackendSettings;

/**
 * Reads BACKEND_TYPE and the settings of every backend: a mistake in those of another one is told
 * too.
 */
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
