// Kubernetes puts variables for every service of a namespace into every container. For a service
// named "statsd" one of them is STATSD_PORT, with an address in it: the name of a setting that a
// person never meant. Those are taken out here, before anything is read. Pure.
import type { Env } from "@weir/common/settings/read-env";

/** What such a variable holds, for example tcp://10.0.0.7:8125. */
const LINK_VALUE = /^(tcp|udp|sctp):\/\/[^/]+:\d+$/;

/** How the variables of a service end, behind its name in capital letters. */
const LINK_NAME = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/**
 * `env` without the variables whose name and value are those of a link to a service. No port is
 * ever written so.
 */
export function withoutServiceLinks(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !(LINK_NAME.test(name) && LINK_VALUE.test(value ?? ""))),
  );
}

/**
 * Whether a variable has the name of such a link, whatever it holds: nothing is to be said about
 * those.
 */
export function isServiceLinkName(name: string): boolean {
  return LINK_NAME.test(name);
}
