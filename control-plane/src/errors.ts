// Every error code and every refusal reason of this workspace, explained. Not thrown from here: the
// files that throw or refuse name them.
import type { ErrorTable } from "@weir/common/errors/service-error";

/** The error codes of the control plane. */
export const CONTROL_PLANE_ERRORS = {
  SOURCE_UNREADABLE: {
    meaning:
      "The place that resources come from cannot be read: it is missing, not permitted, or holds more than is read.",
    remedy:
      "Correct what the message names. A running control plane goes on serving what it read last, and tries again by itself.",
  },
  WATCHERS_EXCEEDED: {
    meaning: "As many clients watch the rollout, or have a stream of client status open, as one replica allows.",
    remedy: "End watches that nobody reads, or ask with GetRollout (FetchClientStatus) now and then.",
  },
  ANSWERS_EXCEEDED: {
    meaning:
      "As many answers about the rollout, or about the status of clients, are on their way as one replica allows: clients have not read them yet.",
    remedy:
      "Ask again in a moment, and less often; narrow what is asked for. A client that does not read its answer is cut off after 30 seconds.",
  },
  SHUTTING_DOWN: {
    meaning: "The replica is stopping and ends what goes on.",
    remedy: "Connect again; another replica answers.",
  },
  CLIENT_STATUS_REFUSED: {
    meaning:
      "A request for client status cannot be answered: a matcher in it is wrong, or the answer would be too large.",
    remedy: "Correct what the message names; select fewer clients, or set exclude_resource_contents.",
  },
} as const satisfies ErrorTable;

/** A code of {@link CONTROL_PLANE_ERRORS}. */
export type ControlPlaneErrorCode = keyof typeof CONTROL_PLANE_ERRORS;

/** The codes with which a question about the rollout is refused. */
export type ReportErrorCode = Extract<
  ControlPlaneErrorCode,
  "WATCHERS_EXCEEDED" | "ANSWERS_EXCEEDED" | "SHUTTING_DOWN" | "CLIENT_STATUS_REFUSED"
>;

/**
 * Why a resource, or a whole file, is not served as it is written. These are told in the log, on
 * the status page and in metrics.
 */
export const RESOURCE_ERRORS = {
  InvalidSpec: {
    meaning: "The manifest or the rules in it are wrong; the message names file, line and field.",
    remedy: "Correct the field. Until then the last good form of the resource is served, if this process has seen one.",
  },
  DuplicateResource: {
    meaning: "Two manifests have the same namespace and name; the first, by path, is served.",
    remedy: "Rename or delete one of the two places that the message names.",
  },
  DomainConflict: {
    meaning:
      "The domain belongs to another resource: the oldest one that claims it, by creation time, then namespace, then name.",
    remedy: "Use another domain, or move the rules into the resource that the message names.",
  },
  TooManyFleets: {
    meaning: "With this resource more than 256 fleets would have a name; the oldest resources have theirs.",
    remedy: "Name fewer fleets, for example one for all gateways of a kind, or leave spec.fleets out.",
  },
  TooLarge: {
    meaning:
      "With this resource the configuration would be larger than SNAPSHOT_MAX_BYTES; the configuration before it stays in force.",
    remedy:
      "Make the resource smaller, or raise SNAPSHOT_MAX_BYTES together with the receive limit of the rate limit pods.",
  },
  RejectedByDataPlane: {
    meaning:
      "Pods of a fleet rejected the resource and none accepted it: it is quarantined there, which means that its last accepted form is served or that it is left out. Everything else goes on.",
    remedy:
      "Read the pod's own words in the message: correct the resource, or bring the pods to an image that knows what it uses. Any edit, and any pod that accepts it, ends the quarantine.",
  },
} as const satisfies ErrorTable;

/** A reason of {@link RESOURCE_ERRORS}. */
export type RefusalReason = keyof typeof RESOURCE_ERRORS;
