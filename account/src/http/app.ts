// The express application: the steps of every request, the routes, and the answer without a route.
import express from "express";
import type { Express, RequestHandler } from "express";
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";
import { AccountError } from "../errors.ts";
import type { LocalMediaStore } from "../media/local/local-media-store.ts";
import type { CookieOptions } from "../sessions/cookies.ts";
import type { LimitedRoute } from "../throttle/limits.ts";
import type { Throttle } from "../throttle/throttle.ts";
import type { AccountCalls } from "./account-routes.ts";
import { COMMON_HEADERS, sendJson } from "./answer.ts";
import { corsHeaders, isCallAllowed, type OriginOptions, PREFLIGHT_HEADERS } from "./cross-site.ts";
import { answerErrors } from "./error-answer.ts";
import { type CallFailure, failureOf } from "./error-status.ts";
import type { Health } from "./health.ts";
import { READ_JSON_BODY } from "./json-body.ts";
import { limitAddress } from "./limit-steps.ts";
import { serveMedia } from "./media-route.ts";
import { attachContext, contextOf, describeRequest } from "./request-context.ts";
import { traceRequests } from "./request-span.ts";

/** Called once for every answered request. */
export type RequestListener = (request: {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  /** How it failed; undefined when it succeeded. */
  readonly failure: CallFailure | undefined;
}) => void;

/** The dependencies of the application. */
export interface AppDeps {
  readonly handlers: Pick<AccountCalls, keyof AccountCalls>;
  readonly throttle: Pick<Throttle, "decide">;
  /** The store whose images are served here; undefined when another server has them. */
  readonly media: LocalMediaStore | undefined;
  readonly health: Pick<Health, "isReady" | "isDraining">;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly onAnswered: RequestListener;
}

/** The options of the application. */
export interface AppOptions {
  readonly cookies: CookieOptions;
  readonly origins: OriginOptions;
  /** How many proxies, or which networks of proxies, may name their client; false trusts none. */
  readonly trustProxy: number | readonly string[] | false;
}

/** The path of each call with its method, for routing and for the labels of metrics. */
export const ACCOUNT_ROUTES = {
  register: { method: "post", path: "/api/v1/user/register" },
  login: { method: "post", path: "/api/v1/user/login" },
  refreshToken: { method: "post", path: "/api/v1/user/refresh-token" },
  currentUser: { method: "get", path: "/api/v1/user/current-user" },
  logout: { method: "post", path: "/api/v1/user/logout" },
} as const satisfies Record<keyof AccountCalls, { method: "get" | "post"; path: string }>;

/** The calls that are limited by address before anything else, by their value in descriptors. */
const LIMITED_CALLS: Readonly<Partial<Record<keyof AccountCalls, LimitedRoute>>> = {
  register: "register",
  login: "login",
};

/** Builds the application. */
export function createApp(deps: AppDeps, options: AppOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.enable("strict routing");
  app.enable("case sensitive routing");
  app.set("query parser", false);
  app.set("trust proxy", options.trustProxy);
  app.use(
    attachContext(deps.log, { trustsProxy: options.trustProxy !== false }),
    setCommonHeaders(deps.health),
    observe(deps.onAnswered),
    traceRequests(deps.tracing),
    requireHost,
    refuseOddMethods,
    allowOrigins(options.origins),
  );
  const routes = { app, guard: refuseCrossSite(options.origins) };
  addAccountRoutes(routes, deps);
  if (deps.media !== undefined) addRoute(routes, "get", /^\/media\/.*/, "/media/:key", [serveMedia(deps.media)]);
  addRoute(routes, "get", "/healthz", "/healthz", [answerHealth]);
  addRoute(routes, "get", "/readyz", "/readyz", [answerReadiness(deps.health)]);
  app.use((_request, _response, next) => next(new AccountError("not_found", "There is nothing under this path.")));
  app.use(answerErrors(options.cookies));
  return app;
}

/** The application, and the step before all others of each of its paths. */
interface Routes {
  readonly app: Express;
  readonly guard: RequestHandler;
}

function addAccountRoutes(routes: Routes, { handlers, throttle }: Pick<AppDeps, "handlers" | "throttle">): void {
  for (const [name, { method, path }] of Object.entries(ACCOUNT_ROUTES)) {
    const steps: RequestHandler[] = [];
    const limited = LIMITED_CALLS[name as keyof AccountCalls];
    if (limited !== undefined) steps.push(limitAddress(throttle, limited));
    if (path === ACCOUNT_ROUTES.login.path) steps.push(...READ_JSON_BODY);
    addRoute(routes, method, path, path, [...steps, handlers[name as keyof AccountCalls]]);
  }
}

/** Adds one path with one method; its other methods get 405. */
function addRoute(
  { app, guard }: Routes,
  method: "get" | "post",
  path: string | RegExp,
  label: string,
  steps: readonly RequestHandler[],
): void {
  const allow = method === "get" ? ["GET", "HEAD", "OPTIONS"] : ["POST", "OPTIONS"];
  const setLabel: RequestHandler = (_request, response, next) => {
    contextOf(response).route = label;
    next();
  };
  app.all(path, setLabel, guard);
  app[method](path, ...steps);
  app.options(path, (_request, response) => {
    response.setHeader("Allow", allow.join(", "));
    response.status(204).end();
  });
  app.all(path, (_request, _response, next) => {
    next(new AccountError("method_not_allowed", `This path takes ${allow.join(", ")}.`, { allow }));
  });
}

function setCommonHeaders(health: AppDeps["health"]): RequestHandler {
  return (_request, response, next) => {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
    if (health.isDraining()) response.setHeader("Connection", "close");
    next();
  };
}

/** Measures every request, also one that fails. */
function observe(onAnswered: RequestListener): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now();
    response.once("close", () => {
      const { route, caller, failure } = contextOf(response);
      const seconds = (performance.now() - startedAt) / 1000;
      const result = failure && failureOf(failure);
      onAnswered({ route, method: request.method, status: response.statusCode, seconds, failure: result });
      if (caller.log.isEnabled("debug"))
        caller.log.debug("Request answered", {
          ...describeRequest(request, response),
          status: response.statusCode,
          ms: Math.round(seconds * 1000),
        });
    });
    next();
  };
}

/** HTTP/1.1 wants exactly one Host header (RFC 9112 section 3.2). */
const requireHost: RequestHandler = (request, response, next) => {
  const count = request.headersDistinct["host"]?.length ?? 0;
  if (count === 1 || (count === 0 && request.httpVersion === "1.0")) {
    next();
    return;
  }
  response.setHeader("Connection", "close");
  next(new AccountError("malformed_request", `The request has ${count === 0 ? "no" : "more than one"} Host header.`));
};

/** TRACE would repeat cookies to the caller; Node lets it through. */
const refuseOddMethods: RequestHandler = (request, _response, next) => {
  const allow = ["GET", "HEAD", "POST", "OPTIONS"];
  if (!["TRACE", "CONNECT"].includes(request.method)) next();
  else next(new AccountError("method_not_allowed", "This method is not served.", { allow }));
};

function allowOrigins(origins: OriginOptions): RequestHandler {
  return (request, response, next) => {
    const headers = corsHeaders(request.get("origin"), origins);
    const preflight = request.method === "OPTIONS" && headers !== undefined ? PREFLIGHT_HEADERS : {};
    for (const [name, value] of Object.entries({ ...headers, ...preflight })) response.setHeader(name, value);
    next();
  };
}

/** GET, HEAD and OPTIONS change nothing, and CORS keeps their answers from foreign pages. */
function refuseCrossSite(origins: OriginOptions): RequestHandler {
  return (request, response, next) => {
    const isSafe = ["GET", "HEAD", "OPTIONS"].includes(request.method);
    const call = { origin: request.get("origin"), secFetchSite: request.get("sec-fetch-site") };
    if (isSafe || isCallAllowed(call, origins)) {
      next();
      return;
    }
    contextOf(response).caller.log.warn("Cross-site call refused", describeRequest(request, response));
    next(new AccountError("cross_site_request", "Calls from this page are not allowed."));
  };
}

const answerHealth: RequestHandler = (_request, response) => {
  sendJson(response, 200, { status: "alive" });
};

function answerReadiness(health: AppDeps["health"]): RequestHandler {
  return async (_request, response) => {
    if (await health.isReady()) sendJson(response, 200, { status: "ready" });
    else sendJson(response, 503, { status: "not ready", message: "The service is not ready." });
  };
}
