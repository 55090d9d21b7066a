// Describes every error code of the control plane, and every reason for which a resource is not
// served.
import type { ErrorTable } from "@weir/common/errors/service-error";

/** The error codes of the control plane. */
export const CONTROL_PLANE_ERRORS = {
  SOURCE_UNREADABLE: {
    meaning: "The source of resources cannot be read: it is missing, not permitted, or too large.",
    remedy:
      "Correct what the message names. A running control plane continues to serve what it read last, and retries.",
  },
  STATE_UNUSABLE: {
    meaning: "The folder in STATE_DIRECTORY cannot be made, read or written, so that a restart could lose limits.",
    remedy: "Make the folder writable for this process, or unset STATE_DIRECTORY.",
  },
  WATCHERS_EXCEEDED: {
    meaning: "As many clients watch the rollout as one replica allows.",
    remedy: "End unused watches, or poll with GetRollout.",
  },
  ANSWERS_EXCEEDED: {
    meaning:
      "As many answers about the rollout are on their way as one replica allows: clients have not read them yet.",
    remedy:
      "Ask again in a moment, and less often; narrow what is asked for. A client that does not read its answer is cut off after 30 seconds.",
  },
  SHUTTING_DOWN: {
    meaning: "The replica is stopping and ends its streams.",
    remedy: "Connect again; another replica answers.",
  },
} as const satisfies ErrorTable;

/** A code of {@link CONTROL_PLANE_ERRORS}. */
export type ControlPlaneErrorCode = keyof typeof CONTROL_PLANE_ERRORS;

/** The codes of refused questions about the rollout. */
export type ReportErrorCode = Extract<
  ControlPlaneErrorCode,
  "WATCHERS_EXCEEDED" | "ANSWERS_EXCEEDED" | "SHUTTING_DOWN"
>;

/** Why a resource or file is not served as written, for the log, the rollout API and metrics. */
export const RESOURCE_ERRORS = {
  InvalidSpec: {
    meaning: "The manifest or the rules in it are wrong; the message names file, line and field.",
    remedy:
      "Correct the field. Until then the last good revision of the resource is served, if this process has seen one or a RateLimitConfigRevision contains it.",
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
    meaning:
      "With this resource more than 256 fleets would have a name, or its namespace would be the first to name more than 64; the oldest resources have theirs.",
    remedy: "Name fewer fleets, for example one for all gateways of a kind, or leave spec.fleets out.",
  },
  TooMany: {
    meaning:
      "The namespace has more than 10,000 resources; the oldest are served, by creation time, then namespace, then name.",
    remedy: "Delete resources of the namespace, put the rules of several into one, or use another namespace.",
  },
  TooLarge: {
    meaning:
      "With this resource the configuration of a fleet would be larger than SNAPSHOT_MAX_BYTES, or the part of its namespace larger than SNAPSHOT_NAMESPACE_MAX_BYTES. Its earlier revision stays active, and everything else continues.",
    remedy:
      "Make the resource smaller, or raise SNAPSHOT_MAX_BYTES together with the receive limit of the rate limit pods. It is tried again at every change.",
  },
  RejectedByDataPlane: {
    meaning:
      "A connected pod NACKed the resource: it is sent the newest earlier revision that it accepts, or none. Other pods and resources are not affected.",
    remedy:
      "The message has the text of the pod: correct the resource, or update the pods to an image that supports it. Any edit, and any new connection of the pod, sends it the current revision again.",
  },
} as const satisfies ErrorTable;

/** A reason of {@link RESOURCE_ERRORS}. */
export type RefusalReason = keyof typeof RESOURCE_ERRORS;
