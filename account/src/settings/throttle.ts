// The settings of throttling: the rate limit service, and what applies without its answer.
import type { EnvReader } from "@weir/common/settings/read-env";
import type { ThrottleSettings } from "../throttle/create-throttle.ts";
import { type Limit, type Limits, LIMITS } from "../throttle/limits.ts";

/** A limit as it is written in RATE_LIMIT_LOCAL. */
const LIMIT = /^(\w+)\.(\w+)=([1-9]\d{0,8})\/(\w+)$/;

const UNIT_SECONDS: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 };

/** Longest RATE_LIMIT_TIMEOUT in milliseconds: a login asks twice. */
const TIMEOUT_MAX_MS = 10_000;

/** A host name or address with its port, or a Unix domain socket, as gRPC writes them. */
const TARGET = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$|^unix:\/[^\0]+$/i;

/** Reads them; what is fit for development only is added to `warnings`. */
export function readThrottle(read: EnvReader, warnings: string[]): ThrottleSettings {
  const target = read.optionalString("RATE_LIMIT_GRPC", {
    effect:
      "Rate limit service that decides about the limits of calls, as host:port; not set, this process decides alone.",
  });
  if (target !== undefined && !TARGET.test(target))
    read.problem("RATE_LIMIT_GRPC", target, "host:port, [address]:port or unix:/path of a gRPC listener");
  const domain = read.string("RATE_LIMIT_DOMAIN", {
    default: "account",
    effect: "Domain of the descriptors; that of examples/limits/account.yaml.",
  });
  const timeoutMs = read.durationMs("RATE_LIMIT_TIMEOUT", {
    default: "50ms",
    minMs: 1,
    maxMs: TIMEOUT_MAX_MS,
    effect: "Longest wait for an answer of the rate limit service; a login asks twice.",
  });
  const failure = read.oneOf("RATE_LIMIT_FAILURE", {
    default: "local",
    choices: ["local", "open", "closed"],
    effect:
      "What applies without an answer: local applies the same limits in this process, open none, closed answers 503.",
  });
  const limits = readLimits(read);
  const tls = readTls(read);
  if (target === undefined && failure === "closed")
    read.problem("RATE_LIMIT_FAILURE", failure, "local or open, because RATE_LIMIT_GRPC is not set");
  if (target === undefined && failure === "open")
    warnings.push("RATE_LIMIT_FAILURE=open without RATE_LIMIT_GRPC lets everyone guess passwords without a limit");
  if (target === undefined && tls !== undefined)
    read.problem("RATE_LIMIT_TLS", "true", "set only together with RATE_LIMIT_GRPC");
  return { service: target === undefined ? undefined : { target, domain, timeoutMs, tls }, failure, limits };
}

function readLimits(read: EnvReader): Limits {
  const entries = read.list("RATE_LIMIT_LOCAL", {
    effect: `Limits that this process applies itself, in place of these: ${describeLimits(LIMITS)}.`,
  });
  const limits: Record<string, Record<string, Limit> | undefined> = structuredClone(LIMITS);
  for (const entry of entries) {
    const [, route = "", key = "", requests, unit = ""] = LIMIT.exec(entry) ?? [];
    const ofRoute = limits[route];
    const windowSeconds = UNIT_SECONDS[unit];
    if (ofRoute?.[key] !== undefined && windowSeconds !== undefined)
      ofRoute[key] = { requests: Number(requests), windowSeconds };
    else
      read.problem(
        "RATE_LIMIT_LOCAL",
        entry,
        `route.key=requests/unit such as login.ip=20/minute, of ${describeLimits(LIMITS)}`,
      );
  }
  return limits as unknown as Limits;
}

function describeLimits(limits: Limits): string {
  const unitOf = (seconds: number): string =>
    Object.entries(UNIT_SECONDS).find(([, each]) => each === seconds)?.[0] ?? `${seconds} seconds`;
  return Object.entries(limits)
    .flatMap(([route, keys]) =>
      Object.entries(keys).map(
        ([key, { requests, windowSeconds }]) => `${route}.${key}=${requests}/${unitOf(windowSeconds)}`,
      ),
    )
    .join(",");
}

type TlsSettings = NonNullable<ThrottleSettings["service"]>["tls"];

function readTls(read: EnvReader): TlsSettings {
  const isOn = read.boolean("RATE_LIMIT_TLS", {
    default: false,
    effect: "Whether the rate limit service is called over TLS.",
  });
  const file = (name: string, effect: string): string | undefined => read.optionalString(name, { effect });
  const caPath = file(
    "RATE_LIMIT_TLS_CACERT",
    "File of an authority to trust for it, in addition to the public ones and those of the system; read again when it changes.",
  );
  const certPath = file("RATE_LIMIT_TLS_CLIENT_CERT", "File of the client certificate for it.");
  const keyPath = file("RATE_LIMIT_TLS_CLIENT_KEY", "File of its private key.");
  const serverName = file(
    "RATE_LIMIT_TLS_SERVER_NAME",
    "Name or address that its certificate must have; not set, the host of RATE_LIMIT_GRPC.",
  );
  const set = Object.entries({
    RATE_LIMIT_TLS_CACERT: caPath,
    RATE_LIMIT_TLS_CLIENT_CERT: certPath,
    RATE_LIMIT_TLS_CLIENT_KEY: keyPath,
    RATE_LIMIT_TLS_SERVER_NAME: serverName,
  }).filter(([, value]) => value !== undefined);
  if (!isOn) {
    for (const [name, value] of set) read.problem(name, value, "set only together with RATE_LIMIT_TLS=true");
    return undefined;
  }
  if ((certPath === undefined) !== (keyPath === undefined))
    read.problem(
      certPath === undefined ? "RATE_LIMIT_TLS_CLIENT_CERT" : "RATE_LIMIT_TLS_CLIENT_KEY",
      undefined,
      "the path of a file: certificate and key are given together or not at all",
    );
  return { paths: { caPath, certPath, keyPath }, serverName };
}
