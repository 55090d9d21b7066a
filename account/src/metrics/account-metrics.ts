// The service's metrics in a registry of their own, every series present at zero from the start.
// Labels are few and never personal.
import { MISNAMED_METRICS } from "@weir/common/admin/misnamed-metrics";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ThrottleEvents } from "../throttle/throttle.ts";
import type { StoreEvents } from "../store/watch-store.ts";
import { createStoreMetrics } from "./store-metrics.ts";
import { createThrottleMetrics } from "./throttle-metrics.ts";
import type { AccountEvents, LoginResult, RefreshResult, RegistrationResult } from "../users/account-events.ts";

/** Upper bounds of answer times, in seconds: from a token check to a queued password hash. */
const ANSWER_SECONDS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Upper bounds of hash times, in seconds: around 0.25 at the default cost. */
const HASH_SECONDS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2];

/** Upper bounds of the time to store an image, in seconds. */
const MEDIA_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];

/** Upper bounds of the time to decode and encode an image, in seconds; it is killed after 2. */
const IMAGE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

const FAILURES = ["invalid", "throttled", "busy", "fault"] as const;
const REGISTRATION_RESULTS: readonly RegistrationResult[] = ["success", "email_taken", ...FAILURES];
const LOGIN_RESULTS: readonly LoginResult[] = ["success", "invalid_credentials", ...FAILURES];
const REFRESH_RESULTS: readonly RefreshResult[] = ["rotated", "grace", "issued", "reuse", ...FAILURES];

const ORPHAN_RESULTS = ["removed", "failed"] as const;
type OrphanResult = (typeof ORPHAN_RESULTS)[number];

/** An answer to a request of a route, by its pattern. */
export interface RouteAnswer {
  readonly route: string;
  readonly method: string;
  readonly status: number;
}

/**
 * A route with its method and the status of its success, for the series that exist from the start,
 * and the call that it serves.
 */
export interface RouteSeries extends RouteAnswer {
  readonly call: string;
}

export interface AccountMetrics {
  readonly events: AccountEvents;
  readonly storeEvents: StoreEvents;
  readonly throttleEvents: ThrottleEvents;
  readonly answered: (answer: RouteAnswer & { readonly seconds: number; readonly failure: string | undefined }) => void;
  readonly passwordsWaiting: (waiting: number) => void;
  readonly passwordHashed: (seconds: number) => void;
  readonly imagesWaiting: (waiting: number) => void;
  readonly connectionsOpen: (open: number) => void;
  readonly connectionRefused: () => void;
  /** An image was decoded and encoded, or refused, in so many seconds. */
  readonly imageCleaned: (seconds: number) => void;
  /** An image ended the process that decodes images. */
  readonly imageProcessEnded: () => void;
  /** The clean-up found an image without a user, and removed it or failed to. */
  readonly mediaOrphaned: (result: OrphanResult) => void;
  readonly contentType: string;
  /** All metrics in Prometheus' text format. */
  expose(): Promise<string>;
}

/** Registers the metrics. */
export function createAccountMetrics(routes: readonly RouteSeries[]): AccountMetrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "http_requests_total",
    help: "Answered requests by route pattern, method and status.",
    labelNames: ["route", "method", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time from request to the end of its answer.",
    labelNames: ["route", "method"],
    buckets: ANSWER_SECONDS,
    registers,
  });
  const passwordsWaiting = new Gauge({
    name: "bcrypt_queue_depth",
    help: "Password hashes waiting for their turn.",
    registers,
  });
  const passwordSeconds = new Histogram({
    name: "bcrypt_seconds",
    help: "Time of one password hash.",
    buckets: HASH_SECONDS,
    registers,
  });
  for (const { route, method, status } of routes) {
    requests.inc({ route, method, status }, 0);
    seconds.zero({ route, method });
  }
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_METRICS) registry.removeSingleMetric(name);
  const results = createResults(registry);
  const resultsByRoute = new Map(
    routes.flatMap(({ route, call }) => (call in results ? [[route, results[call as keyof CallResults]]] : [])),
  );
  return {
    events: createEvents(registry, results),
    storeEvents: createStoreMetrics(registry),
    throttleEvents: createThrottleMetrics(registry),
    answered: (answer) => {
      if (answer.failure !== undefined) resultsByRoute.get(answer.route)?.inc({ result: answer.failure });
      requests.inc({ route: answer.route, method: knownMethod(answer.method), status: answer.status });
      seconds.observe({ route: answer.route, method: knownMethod(answer.method) }, answer.seconds);
    },
    passwordsWaiting: (waiting) => passwordsWaiting.set(waiting),
    ...createImageMetrics(registry),
    ...createConnectionMetrics(registry),
    passwordHashed: (duration) => passwordSeconds.observe(duration),
    contentType: registry.contentType,
    expose: () => registry.metrics(),
  };
}

/** The results of the calls that have them, by the name of the call. */
interface CallResults {
  readonly register: Counter;
  readonly login: Counter;
  readonly refreshToken: Counter;
}

function createResults(registry: Registry): CallResults {
  const counter = (name: string, help: string, results: readonly string[]): Counter => {
    const counted = new Counter({ name, help, labelNames: ["result"], registers: [registry] });
    for (const result of results) counted.inc({ result }, 0);
    return counted;
  };
  return {
    register: counter("registrations_total", "Registrations by result.", REGISTRATION_RESULTS),
    login: counter("login_total", "Logins by result.", LOGIN_RESULTS),
    refreshToken: counter("refresh_total", "Refreshes by result.", REFRESH_RESULTS),
  };
}

function createConnectionMetrics(registry: Registry): Pick<AccountMetrics, "connectionsOpen" | "connectionRefused"> {
  const registers = [registry];
  const open = new Gauge({ name: "http_connections", help: "Open connections of callers.", registers });
  const refused = new Counter({
    name: "http_connections_refused_total",
    help: "Connections that were closed because there were too many.",
    registers,
  });
  return { connectionsOpen: (count) => open.set(count), connectionRefused: () => refused.inc() };
}

function createImageMetrics(
  registry: Registry,
): Pick<AccountMetrics, "imagesWaiting" | "imageCleaned" | "imageProcessEnded" | "mediaOrphaned"> {
  const registers = [registry];
  const seconds = new Histogram({
    name: "image_seconds",
    help: "Time to decode and encode an image.",
    buckets: IMAGE_SECONDS,
    registers,
  });
  const ends = new Counter({
    name: "image_process_ends_total",
    help: "Images over which their process ended, or was killed.",
    registers,
  });
  const waiting = new Gauge({ name: "image_queue_depth", help: "Images waiting for their turn.", registers });
  const orphans = new Counter({
    name: "media_orphans_total",
    help: "Images without a user that the hourly clean-up has found, by whether it could remove them.",
    labelNames: ["result"],
    registers,
  });
  for (const result of ORPHAN_RESULTS) orphans.inc({ result }, 0);
  return {
    imagesWaiting: (count) => waiting.set(count),
    imageCleaned: (duration) => seconds.observe(duration),
    imageProcessEnded: () => ends.inc(),
    mediaOrphaned: (result) => orphans.inc({ result }),
  };
}

function createEvents(registry: Registry, results: CallResults): AccountEvents {
  const registers = [registry];
  const mediaSeconds = new Histogram({
    name: "media_put_seconds",
    help: "Time to store an image.",
    buckets: MEDIA_SECONDS,
    registers,
  });
  return {
    loggedIn: () => results.login.inc({ result: "success" }),
    refreshed: (result) => results.refreshToken.inc({ result }),
    registered: () => results.register.inc({ result: "success" }),
    mediaStored: (duration) => mediaSeconds.observe(duration),
  };
}

/** A caller can invent methods; a metric must not grow with them. */
function knownMethod(method: string): string {
  return ["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"].includes(method) ? method : "other";
}
