// Removes the variables that Kubernetes adds to every container for the services of its namespace:
// for a service named "statsd", STATSD_PORT contains an address. Pure.
import type { Env } from "./read-env.ts";

/** The value of such a variable, for example tcp://10.0.0.7:8125. */
const LINK_VALUE = /^(tcp|udp|sctp):\/\/[^/]+:\d+$/;

/** The suffix of such a variable, after the name of the service in capital letters. */
const LINK_NAME = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/**
 * `env` without the variables with the name and the value of a service link, which is no valid
 * port.
 */
export function withoutServiceLinks(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !(LINK_NAME.test(name) && LINK_VALUE.test(value ?? ""))),
  );
}

/**
 * Returns true if a variable has the name of a service link, whatever its value; such names get no warning.
 */
export function isServiceLinkName(name: string): boolean {
  return LINK_NAME.test(name);
}
