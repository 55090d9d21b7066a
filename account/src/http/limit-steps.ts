// Applies the limits to requests: the address before the body is read, and what the body names after it
// is parsed. Both come before any password is hashed.
import type { Request, RequestHandler, Response } from "express";
import { rateLimited } from "../errors.ts";
import { type CookieOptions, readCookie } from "../sessions/cookies.ts";
import { isDeviceToken } from "../sessions/device-cookie.ts";
import type { TokenCheck } from "../sessions/tokens.ts";
import { addressCheck, type LimitCheck, type LimitedRoute, loginCheck, sessionCheck } from "../throttle/limits.ts";
import type { Throttle } from "../throttle/throttle.ts";
import type { AccountDeps } from "../users/account-deps.ts";
import { accountLabel } from "../users/public-user.ts";
import { contextOf } from "./request-context.ts";

/** The step before the body is read. */
export function limitAddress(throttle: Pick<Throttle, "decide">, route: LimitedRoute): RequestHandler {
  return async (_request, response, next) => {
    await enforceLimits(throttle, addressCheck(route, contextOf(response).caller.group), response);
    next();
  };
}

/** The dependencies of limits that count by account or session. */
export interface LimitDeps extends Pick<AccountDeps, "clock" | "labelKey" | "store"> {
  readonly throttle: Pick<Throttle, "decide">;
}

/** Counts a call by its session first: what it does too often does not count for the others of its address. */
export async function limitSession(
  { throttle, labelKey }: Pick<LimitDeps, "throttle" | "labelKey">,
  route: LimitedRoute,
  token: TokenCheck<{ readonly sessionId: string }> | undefined,
  response: Response,
): Promise<void> {
  const { group } = contextOf(response).caller;
  if (token?.ok === true) {
    const session = accountLabel(labelKey, `session|${token.claims.sessionId}`);
    await enforceLimits(throttle, sessionCheck(route, session, group), response);
  }
  await enforceLimits(throttle, addressCheck(route, group), response);
}

/**
 * Counts an attempt to guess the password of an account, before it is compared, alike for accounts that exist
 * and others.
 */
export async function limitGuess(
  { store, throttle, clock, labelKey }: LimitDeps,
  emailKey: string,
  cookies: CookieOptions,
  { request, response }: { readonly request: Request; readonly response: Response },
): Promise<void> {
  const { group } = contextOf(response).caller;
  const device = readCookie(request.headers.cookie, "device", cookies);
  const holder = device.kind === "present" ? await store.findByEmailKey(emailKey) : undefined;
  const isKnown =
    device.kind === "present" && holder !== undefined && isDeviceToken(labelKey, holder, device.value, clock());
  const check = loginCheck({
    group,
    account: accountLabel(labelKey, emailKey),
    accountAndAddress: accountLabel(labelKey, `${emailKey}|${group.customer}`),
    device: isKnown ? accountLabel(labelKey, `device|${device.value}`) : undefined,
  });
  await enforceLimits(throttle, check, response);
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
