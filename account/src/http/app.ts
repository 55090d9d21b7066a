// The express application: the steps of every request, the routes, and the answer without a route.
import express from "express";
import type { Express, RequestHandler, Router } from "express";
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";
import { AccountError } from "../errors.ts";
import type { LocalMediaStore } from "../media/local/local-media-store.ts";
import type { CookieOptions } from "../sessions/cookies.ts";
import type { KeyRing } from "../sessions/key-ring.ts";
import type { Throttle } from "../throttle/throttle.ts";
import { COMMON_HEADERS, sendJson } from "./answer.ts";
import { corsHeaders, isCallAllowed, type OriginOptions, PREFLIGHT_HEADERS } from "./cross-site.ts";
import { answerErrors } from "./error-answer.ts";
import { type CallFailure, failureOf } from "../api/error-status.ts";
import type { Health } from "./health.ts";
import { READ_JSON_BODY } from "./json-body.ts";
import { serveKeySet } from "./key-set-route.ts";
import { limitAddress } from "./limit-steps.ts";
import { serveMedia } from "./media-route.ts";
import { type PageFacts, pageRoutes } from "./page-routes.ts";
import { attachContext, contextOf, describeRequest } from "./request-context.ts";
import { traceRequests } from "./request-span.ts";
import { CLIENT_FILE, serveStatic } from "./static-route.ts";
import { ACCOUNT_ROUTES, type AccountRoute, type CallMethod, type CallName, KEY_SET_PATH } from "../api/routes.ts";

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
  readonly handlers: Readonly<Record<CallName, RequestHandler>>;
  readonly hasMail: boolean;
  /** The step of calls that are limited by session and address. */
  readonly limitSession: RequestHandler;
  readonly throttle: Pick<Throttle, "decide">;
  /** The keys of access tokens of the moment. */
  readonly accessKeys: () => KeyRing;
  /** The store whose images are served here; undefined when another server has them. */
  readonly media: LocalMediaStore | undefined;
  /** Undefined: no page is served. */
  readonly page: PageFacts | undefined;
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
  const routes = { app, guard: refuseCrossSite(options.origins), byPath: new Map<string, Router>() };
  // The router would compare a path with those of all calls before its own, four times each.
  app.use((request, response, next) => {
    const router = routes.byPath.get(request.path);
    if (router === undefined) next();
    else router(request, response, next);
  });
  addAccountRoutes(routes, deps);
  if (deps.media !== undefined) addRoute(routes, /^\/media\/.*/, "/media/:key", { get: [serveMedia(deps.media)] });
  addRoute(routes, KEY_SET_PATH, KEY_SET_PATH, { get: [serveKeySet(deps.accessKeys, deps.log)] });
  addRoute(routes, "/client.js", "/client.js", { get: [serveStatic(CLIENT_FILE)] });
  for (const [path, answer] of deps.page === undefined ? [] : pageRoutes(deps.page, options.cookies))
    addRoute(routes, path, path, { get: [answer] });
  addRoute(routes, "/openapi.json", "/openapi.json", { get: [answerDocument] });
  addRoute(routes, "/healthz", "/healthz", { get: [answerHealth] });
  addRoute(routes, "/readyz", "/readyz", { get: [answerReadiness(deps.health)] });
  app.use(answerNotFound);
  app.use(answerErrors(options.cookies));
  return app;
}

/** The application, and the step before all others of each of its paths. */
interface Routes {
  readonly app: Express;
  readonly guard: RequestHandler;
  /** The routers of paths without parameters. */
  readonly byPath: Map<string, Router>;
}

type Methods = Partial<Record<CallMethod, readonly RequestHandler[]>>;

function addAccountRoutes(
  routes: Routes,
  deps: Pick<AppDeps, "handlers" | "throttle" | "limitSession" | "hasMail">,
): void {
  const paths = new Map<string, Methods>();
  for (const [name, route] of Object.entries(ACCOUNT_ROUTES) as [CallName, AccountRoute][]) {
    const methods = paths.get(route.path) ?? {};
    methods[route.method] = [...stepsBefore(route, deps), deps.handlers[name]];
    paths.set(route.path, methods);
  }
  for (const [path, methods] of paths) addRoute(routes, path, path, methods);
}

/** The steps before the handler of a call. */
function stepsBefore(
  { limit, body, needsMail }: AccountRoute,
  { throttle, limitSession, hasMail }: Pick<AppDeps, "throttle" | "limitSession" | "hasMail">,
): readonly RequestHandler[] {
  if (needsMail === true && !hasMail) return [answerNotFound];
  const limits = limit === undefined ? [] : [limit === "profile" ? limitSession : limitAddress(throttle, limit)];
  return body === "json" ? [...limits, ...READ_JSON_BODY] : limits;
}

/** Adds one path with its methods; others get 405. */
function addRoute({ app, guard, byPath }: Routes, path: string | RegExp, label: string, methods: Methods): void {
  const names = (Object.keys(methods) as CallMethod[]).map((method) => method.toUpperCase());
  const allow = [...names.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : name)), "OPTIONS"];
  const setLabel: RequestHandler = (_request, response, next) => {
    contextOf(response).route = label;
    next();
  };
  const router = express.Router({ strict: true, caseSensitive: true });
  router.all(path, setLabel, guard);
  for (const [method, steps] of Object.entries(methods)) router[method as CallMethod](path, ...steps);
  router.options(path, (_request, response) => {
    response.setHeader("Allow", allow.join(", "));
    response.status(204).end();
  });
  router.all(path, (_request, _response, next) => {
    next(new AccountError("method_not_allowed", `This path takes ${allow.join(", ")}.`, { allow }));
  });
  if (typeof path === "string" && !path.includes(":")) byPath.set(path, router);
  else app.use(router);
}

const answerNotFound: RequestHandler = (_request, _response, next) => {
  next(new AccountError("not_found", "There is nothing under this path."));
};

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
  const allow = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"];
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

let document: object | undefined;

/** Loaded when it is asked for the first time, as few processes ever are. */
const answerDocument: RequestHandler = async (_request, response) => {
  const { openApiDocument } = await import("../api/openapi.ts");
  sendJson(response, 200, (document ??= openApiDocument()));
};

const answerHealth: RequestHandler = (_request, response) => {
  sendJson(response, 200, { status: "alive" });
};

function answerReadiness(health: AppDeps["health"]): RequestHandler {
  return async (_request, response) => {
    if (await health.isReady()) sendJson(response, 200, { status: "ready" });
    else sendJson(response, 503, { status: "not ready", message: "The service is not ready." });
  };
}
