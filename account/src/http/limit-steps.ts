// Applies the limits to requests: the address before the body is read, and what the body names after it
// is parsed. Both come before any password is hashed.
import type { RequestHandler, Response } from "express";
import { rateLimited } from "../errors.ts";
import { addressCheck, type LimitCheck, type LimitedRoute } from "../throttle/limits.ts";
import type { Throttle } from "../throttle/throttle.ts";
import { contextOf } from "./request-context.ts";

/** The step before the body is read. */
export function limitAddress(throttle: Pick<Throttle, "decide">, route: LimitedRoute): RequestHandler {
  return async (_request, response, next) => {
    await enforceLimits(throttle, addressCheck(route, contextOf(response).caller.group), response);
    next();
  };
}

/**
 * Counts the request; rejects with `rate_limited` when a limit is reached. The answer gets the headers
 * of the rate limit service.
 */
export async function enforceLimits(
  throttle: Pick<Throttle, "decide">,
  check: LimitCheck,
  response: Response,
): Promise<void> {
  const decision = await throttle.decide(check);
  for (const [name, value] of decision.headers) response.setHeader(name, value);
  if (decision.isAllowed) return;
  throw rateLimited(decision.retryAfterSeconds);
}
