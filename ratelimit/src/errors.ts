// Every error code of the rate limit service with its meaning and remedy; docs/errors.md is
// generated from the table. Each transport maps the codes of a decision to its protocol.
import type { ErrorTable } from "@weir/common/errors/service-error";

/** The error codes of the rate limit service. */
export const RATELIMIT_ERRORS = {
  REQUEST_INVALID: {
    meaning:
      "A rate limit request has no domain, no descriptors, too many of them, or an override with an unknown unit",
    remedy: "Correct the request; MAX_DESCRIPTORS_PER_REQUEST and MAX_ENTRIES_PER_DESCRIPTOR raise the limits",
  },
  NO_CONFIG: {
    meaning: "No rate limit configuration has been loaded yet",
    remedy: 'Look for "Error loading new configuration" in the log: the first configuration is missing or invalid',
  },
  STORE_UNAVAILABLE: {
    meaning: "The counter store cannot be reached, or it answered with an error",
    remedy:
      "Check KVSTORE_URL and KVSTORE_AUTH, or ALTSTORE_HOST_PORT, and the store itself; BACKEND_FAILURE_MODE selects the answer to callers meanwhile",
  },
  STORE_TIMEOUT: {
    meaning: "The counter store did not answer within KVSTORE_COMMAND_TIMEOUT or ALTSTORE_TIMEOUT",
    remedy: "Check the load of the store and the network to it, or raise that setting",
  },
  STORE_FULL: {
    meaning: "The memory backend contains MEMORY_MAX_KEYS counters and rejects new keys, so that no count is lost",
    remedy: "Raise MEMORY_MAX_KEYS, shorten the windows, or use the kvstore backend",
  },
  STORE_KEY_INVALID: {
    meaning:
      "A counter's key cannot be stored in memcached: it is longer than 250 bytes, or contains a space or a control character",
    remedy: "Send shorter values without spaces, or use the kvstore backend, which takes any key",
  },
  STORE_ADDRESS_INVALID: {
    meaning: "The address of the counter store is invalid",
    remedy: "Write KVSTORE_URL or ALTSTORE_HOST_PORT as the message says, and set KVSTORE_SOCKET_TYPE to match",
  },
  DEADLINE_EXCEEDED: {
    meaning: "The caller's deadline passed before the counter store answered",
    remedy: "Give the caller a longer timeout, or find out why the store is slow",
  },
  INTERNAL: {
    meaning: "A decision failed for a reason that should not exist",
    remedy: "Report it with the log line; the process keeps serving other calls",
  },
  WORKER_FAILED: {
    meaning: "A worker process ended before it could decide",
    remedy: "Look for its own lines in the log; WORKERS=1 starts the service without workers",
  },
  CONFIG_INVALID: {
    meaning:
      "A rate limit configuration is invalid; nothing of its load is active and the previous configuration stays",
    remedy: "Correct the configuration at the place that the message names",
  },
  CONFIG_SOURCE_UNAVAILABLE: {
    meaning: "The source of the configuration cannot be read or reached; the previous configuration stays",
    remedy: "Check the RUNTIME_* directory, or CONFIG_GRPC_XDS_SERVER_URL and the server behind it",
  },
  STATISTICS_MAPPING_INVALID: {
    meaning: "The file named by PULLSTATS_MAPPER_YAML is not a valid mapping",
    remedy:
      "Correct the file at the place that the message names, or unset PULLSTATS_MAPPER_YAML to use the default mapping",
  },
} as const satisfies ErrorTable;

/** Every code of this workspace. */
export type RatelimitErrorCode = keyof typeof RATELIMIT_ERRORS;

/** The codes of a failed decision: each transport maps exactly these to its protocol. */
export type DecideErrorCode = Extract<
  RatelimitErrorCode,
  "REQUEST_INVALID" | "NO_CONFIG" | "STORE_UNAVAILABLE" | "DEADLINE_EXCEEDED" | "INTERNAL"
>;

/** The codes of a failed counter. */
export type StoreErrorCode = Extract<
  RatelimitErrorCode,
  "STORE_UNAVAILABLE" | "STORE_TIMEOUT" | "STORE_FULL" | "STORE_KEY_INVALID" | "DEADLINE_EXCEEDED"
>;

/** The codes of a configuration source. */
export type ConfigErrorCode = Extract<RatelimitErrorCode, "CONFIG_INVALID" | "CONFIG_SOURCE_UNAVAILABLE">;
