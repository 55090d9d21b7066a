// The descriptors of each route, and the limits that this process applies when no rate limit service
// decides. examples/limits/account.yaml has the same limits for the service.
import type { CallerGroup } from "@weir/common/callers/caller-group";

/** The routes that are limited, by their value in descriptors. */
export type LimitedRoute = "register" | "login" | "refresh" | "profile" | "mail";

/**
 * The keys below a route. The values of `ip` are IPv4 addresses and the /64 of IPv6, of `ip_net` the /56 of
 * IPv6, of `ip_day` IPv4 addresses and the /56; the others are labels.
 */
export type LimitKey = "ip" | "ip_net" | "ip_day" | "account_ip" | "account" | "device" | "session";

/** A limit in fixed windows. */
export interface Limit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** Limits by route and key. */
export type Limits = Readonly<Record<LimitedRoute, Readonly<Partial<Record<LimitKey, Limit>>>>>;

/**
 * The limits of this process unless RATE_LIMIT_LOCAL changes them. A window belongs to a key, so two windows
 * for one value have two keys.
 */
export const LIMITS: Limits = {
  register: {
    ip: { requests: 5, windowSeconds: 60 },
    ip_net: { requests: 10, windowSeconds: 60 },
    ip_day: { requests: 50, windowSeconds: 86_400 },
  },
  login: {
    ip: { requests: 20, windowSeconds: 60 },
    ip_net: { requests: 40, windowSeconds: 60 },
    account_ip: { requests: 5, windowSeconds: 60 },
    account: { requests: 100, windowSeconds: 3600 },
    device: { requests: 100, windowSeconds: 3600 },
  },
  refresh: {
    session: { requests: 20, windowSeconds: 60 },
    ip: { requests: 60, windowSeconds: 60 },
    ip_net: { requests: 120, windowSeconds: 60 },
  },
  profile: {
    session: { requests: 30, windowSeconds: 60 },
    ip: { requests: 120, windowSeconds: 60 },
    ip_net: { requests: 240, windowSeconds: 60 },
  },
  mail: {
    account: { requests: 3, windowSeconds: 3600 },
    ip: { requests: 10, windowSeconds: 3600 },
    ip_net: { requests: 20, windowSeconds: 3600 },
  },
};

/** One call of the limiter: descriptors `(route, <route>)(<key>, <value>)` that are counted together. */
export interface LimitCheck {
  readonly route: LimitedRoute;
  /** Of the caller, for the log. */
  readonly group: CallerGroup;
  readonly entries: readonly LimitEntry[];
}

/** The second entry of a descriptor; the first one is the route. */
export interface LimitEntry {
  readonly key: LimitKey;
  readonly value: string;
}

/** The attempt to log in, in the terms of its limits. */
export interface LoginAttempt {
  readonly group: CallerGroup;
  /** Label of the account, which does not reveal the e-mail address. */
  readonly account: string;
  /** Label of the account together with the customer's network of the caller. */
  readonly accountAndAddress: string;
  /** Label of the device cookie of a browser that has logged in to the account before. */
  readonly device: string | undefined;
}

/** The check of the address, before the body of a request is read. */
export function addressCheck(route: LimitedRoute, group: CallerGroup): LimitCheck {
  const { address, customer } = group;
  const entries: LimitEntry[] = [{ key: "ip", value: address }];
  if (customer !== address) entries.push({ key: "ip_net", value: customer });
  if (route === "register") entries.push({ key: "ip_day", value: customer });
  return { route, group, entries };
}

/** The check of a call by its session, so that one page in a loop does not use up the limit of its address. */
export function sessionCheck(route: LimitedRoute, session: string, group: CallerGroup): LimitCheck {
  return { route, group, entries: [{ key: "session", value: session }] };
}

/**
 * The check of a login after its body is parsed. A known device is counted by itself in place of
 * `account`, so that guesses from many addresses do not lock the owner out.
 */
export function loginCheck(attempt: LoginAttempt): LimitCheck {
  const perAddress: LimitEntry = { key: "account_ip", value: attempt.accountAndAddress };
  const shared: LimitEntry =
    attempt.device === undefined
      ? { key: "account", value: attempt.account }
      : { key: "device", value: attempt.device };
  return { route: "login", group: attempt.group, entries: [perAddress, shared] };
}

/** The check of a mail to an address, by its label, whether an account has the address or not. */
export function mailCheck(group: CallerGroup, account: string): LimitCheck {
  const { entries } = addressCheck("mail", group);
  return { route: "mail", group, entries: [...entries, { key: "account", value: account }] };
}

/** The decision about one check. */
export type LimitDecision =
  | { readonly isAllowed: true; readonly headers: LimitHeaders }
  | {
      readonly isAllowed: false;
      /** The key whose limit is reached. */
      readonly key: LimitKey;
      /** Whole seconds until its window ends, at least 1. */
      readonly retryAfterSeconds: number;
      readonly headers: LimitHeaders;
    };

/** Headers for the answer, from the rate limit service. */
export type LimitHeaders = readonly (readonly [name: string, value: string])[];
