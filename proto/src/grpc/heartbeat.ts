// The heartbeat of an ADS stream, as Weir's control plane and rate limit pods exchange it:
// docs/discovery.md, "Dead peers".

/** In `client_features` of a node: the pod answers heartbeats. */
export const HEARTBEAT_FEATURE = "dev.weir.ratelimit.heartbeat";

/**
 * Type URL of a heartbeat, which has no resources. Its version is the longest time until the next one,
 * in milliseconds; the answer is a request with this type and the nonce.
 */
export const HEARTBEAT_TYPE_URL = "type.googleapis.com/weir.discovery.v1.Heartbeat";
