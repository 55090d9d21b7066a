// The name under which rate limit configurations travel over xDS.

/** Type URL of a RateLimitConfig in discovery requests and responses. */
export const RATE_LIMIT_CONFIG_TYPE_URL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
