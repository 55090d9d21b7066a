// Which proxy a server is asked through, by the environment, as kubectl reads it (and curl, but for
// what is said of this machine). How a proxy is spoken to is Node's business. Pure.
import { BlockList, isIP } from "node:net";

import type { Env } from "@weir/common/settings/read-env";

/** The variables with a proxy per scheme, and with the exceptions. The first that is set counts. */
const PROXY_VARIABLES = { "https:": ["HTTPS_PROXY", "https_proxy"], "http:": ["HTTP_PROXY", "http_proxy"] } as const;
const EXCEPTION_VARIABLES = ["NO_PROXY", "no_proxy"] as const;

/** The URL of the proxy for a server; undefined: none. */
export function proxyFor(server: string, env: Env): string | undefined {
  const url = new URL(server);
  const named = firstOf(PROXY_VARIABLES[url.protocol === "https:" ? "https:" : "http:"], env)?.value;
  if (named === undefined) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  if (isThisMachine(host) || isExcepted(host, port, firstOf(EXCEPTION_VARIABLES, env)?.value ?? "")) return undefined;
  return named.includes("://") ? named : `http://${named}`;
}

/** The problem with the proxies for these servers, without passwords; undefined: none. */
export function proxyProblem(servers: readonly string[], env: Env): string | undefined {
  for (const server of servers) {
    const proxy = proxyFor(server, env);
    const wrong = proxy === undefined ? undefined : wrongIn(proxy);
    if (wrong === undefined) continue;
    const name = firstOf(PROXY_VARIABLES[server.startsWith("https:") ? "https:" : "http:"], env)?.name ?? "";
    return `${name} must be a URL with http:// or https://, ${wrong}`;
  }
  return undefined;
}

function wrongIn(proxy: string): string | undefined {
  const [scheme = ""] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(proxy) ?? [];
  if (!/^https?:/i.test(scheme)) return `has ${scheme}`;
  if (!URL.canParse(proxy)) return "has no valid host";
  const { username, password } = new URL(proxy);
  return [username, password].every(isEscaped) ? undefined : "has a % in user or password that should be %25";
}

/** Returns true if every % in the text begins a valid escape; Node accepts no other. */
function isEscaped(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The proxy without its credentials. */
export function proxyName(proxy: string): string {
  return new URL(proxy).origin;
}

function firstOf(names: readonly string[], env: Env): { readonly name: string; readonly value: string } | undefined {
  for (const name of names) {
    const value = env[name]?.trim() ?? "";
    if (value !== "") return { name, value };
  }
  return undefined;
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Exceptions: `*`, CIDR ranges; addresses and names with subdomains, perhaps with a port. */
function isExcepted(host: string, port: string, exceptions: string): boolean {
  return exceptions
    .toLowerCase()
    .split(",")
    .map((exception) => exception.trim())
    .some((exception) => {
      if (exception === "" || exception === "*") return exception === "*";
      if (exception.includes("/")) return isInRange(host, exception);
      const [, bracketed, plain, wantedPort] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(exception) ?? [];
      const wanted = (bracketed ?? plain ?? "").replace(/^\*\./, ".");
      if (wantedPort !== undefined && wantedPort !== port) return false;
      if (isIP(host) !== 0) return isIP(wanted) !== 0 && isInRange(host, `${wanted}/${isIP(wanted) === 4 ? 32 : 128}`);
      return wanted.startsWith(".") ? host.endsWith(wanted) : host === wanted || host.endsWith(`.${wanted}`);
    });
}

function isInRange(host: string, range: string): boolean {
  const [network = "", bits = ""] = range.split("/");
  const family = isIP(network) === 4 ? "ipv4" : "ipv6";
  if (isIP(network) === 0 || isIP(host) === 0 || !/^\d+$/.test(bits) || Number(bits) > (family === "ipv4" ? 32 : 128))
    return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
}
