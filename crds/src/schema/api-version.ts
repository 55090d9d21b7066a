// The API group and version of every kind.

/** API group and version of the custom resources. */
export const API_VERSION = "ratelimit.weir.dev/v1alpha1";
