// Builds the throttle from its settings: with a rate limit service, or alone.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { CircuitBreaker } from "@weir/common/backoff/circuit-breaker";
import type { Limits } from "./limits.ts";
import { LocalLimiter } from "./local-limiter.ts";
import type { RateLimitClient, RateLimitClientOptions } from "./rate-limit-client.ts";
import { type FailureMode, Throttle, type ThrottleDeps } from "./throttle.ts";

/** After three failures in a row the service is not asked for 5 s. */
const BREAKER = { failuresMax: 3, openMs: 5000 };

export interface ThrottleSettings {
  /** Undefined: no service is configured. */
  readonly service: RateLimitClientOptions | undefined;
  readonly failure: FailureMode;
  /** The limits that this process applies itself. */
  readonly limits: Limits;
}

/** The throttle, and what the service starts and stops for it, in this order. */
export interface ThrottleParts {
  readonly throttle: Throttle;
  readonly parts: readonly Part[];
}

/** The dependencies: `clock` is for windows of limits, in milliseconds since the epoch. */
export interface CreateThrottleDeps extends Pick<ThrottleDeps, "events" | "log" | "monotonicMs"> {
  readonly clock: () => number;
}

/** Builds it; fails with TLS_FILE_INVALID when a TLS file cannot be used. */
export function createThrottle(
  { service, failure, limits }: ThrottleSettings,
  { log, clock, monotonicMs, events }: CreateThrottleDeps,
): ThrottleParts {
  const deps = { local: new LocalLimiter({ clock }, { limits }), events, log, monotonicMs };
  if (service === undefined) {
    const throttle = new Throttle({ ...deps, service: undefined }, { failure });
    const start = (): void => {
      if (failure === "local") log.info("No rate limit service is set, this process limits requests alone");
    };
    return { throttle, parts: [{ name: "throttle", start }] };
  }
  const breaker = new CircuitBreaker({ monotonicMs }, BREAKER);
  let client: RateLimitClient | undefined;
  const parts: Part[] = [
    {
      name: "rate limit client",
      async start() {
        // Only here, as gRPC takes a tenth of a second and 20 MiB to load.
        const { RateLimitClient: Client } = await import("./rate-limit-client.ts");
        client = new Client({ clock }, service);
        client.connect();
      },
      stop: () => client?.close(),
    },
  ];
  if (service.tls !== undefined) {
    const files = new TlsFiles(service.tls.paths, { log });
    files.onChange(() => client?.connect());
    parts.push(files);
  }
  return { throttle: new Throttle({ ...deps, service: { client: () => client, breaker } }, { failure }), parts };
}
