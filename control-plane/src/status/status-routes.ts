// The routes of the HTTP listener: status, probes, metrics.
import type { IncomingMessage, ServerResponse } from "node:http";

import { type AdminRoute, respondJson, respondText } from "@weir/common/admin/admin-server";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import { type ConcurrencyLimit, RETRY_AFTER } from "../report/concurrency-limit.ts";
import { ReportError } from "../report/report-error.ts";
import { filterOf } from "../report/rollout/rollout-message.ts";
import type { RolloutFilter, RolloutReport } from "../report/rollout/rollout-report.ts";
import type { Publication } from "../snapshot/publication.ts";
import type { Metrics } from "./metrics.ts";
import { CONTENT_SECURITY_POLICY, renderStatusPage } from "./status-page.ts";

/** The paths that are no reports. */
const PROBES = new Set(["/healthz", "/readyz", "/metrics"]);

/** Whether the replica is ready. Probes are frequent, so they do without a whole report. */
export interface Readiness {
  /** Why not; undefined when it is. */
  readonly notReady: string | undefined;
  readonly publication: Publication;
}

export interface StatusRouteDeps {
  readonly report: (filter?: RolloutFilter) => RolloutReport;
  readonly readiness: () => Readiness;
  /** Limits concurrent answers with a whole report. */
  readonly limit: Pick<ConcurrencyLimit, "admitResponse">;
  readonly metrics: Metrics;
}

/** The routes. */
export function statusRoutes({ report, readiness, limit, metrics }: StatusRouteDeps): readonly AdminRoute[] {
  return [
    {
      path: "/status",
      help: "active and invalid resources, and the version of each pod (?fleet=, ?namespace= and ?name= filter)",
      handle: (request, response) => {
        if (isAdmitted(response, limit)) answerStatus(request, response, report);
      },
    },
    {
      path: "/healthz",
      help: "200 while the process works",
      handle: (_request, response) => respondText(response, 200, "ok\n"),
    },
    {
      path: "/readyz",
      help: "200 when the source was read and pods can connect",
      handle: (_request, response) => answerReady(response, readiness()),
    },
    {
      path: "/metrics",
      help: "metrics for Prometheus",
      handle: async (_request, response) => {
        const { contentType, text } = await metrics.scrape();
        response.writeHead(200, { "Content-Type": contentType, "Cache-Control": "no-store" });
        response.end(text);
      },
    },
    { path: "/", help: "leads to /status", handle: (_request, response) => redirect(response, "/status") },
  ];
}

/** The routes with `HTTP_REPORTS=false`: all but probes and metrics explain why they answer 404. */
export function withoutReports(routes: readonly AdminRoute[]): readonly AdminRoute[] {
  const off = { help: "off, because HTTP_REPORTS=false", handle: answerWithoutReports };
  return routes.map((route) => (PROBES.has(route.path) ? route : { ...route, ...off }));
}

/** Clients of the rollout API read an error of the Connect protocol. */
function answerWithoutReports({ method }: IncomingMessage, response: ServerResponse): void {
  const message = "reports are not served on this port, because HTTP_REPORTS=false";
  if (method === "POST") respondJson(response, 404, { code: "failed_precondition", message });
  else respondText(response, 404, `${message}\n`);
}

/** The filter of the query; an empty value, such as an empty field of a revision, filters nothing. */
export function filterIn(request: Pick<IncomingMessage, "url">): RolloutFilter {
  const query = queryOf(request);
  return filterOf({ fleet: query.get("fleet"), namespace: query.get("namespace"), name: query.get("name") });
}

/** The query of any request target, even an invalid URL. */
function queryOf({ url = "" }: Pick<IncomingMessage, "url">): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
}

/** Whether one more answer is allowed; if not, answers 503. */
function isAdmitted(response: ServerResponse, limit: StatusRouteDeps["limit"]): boolean {
  try {
    limit.admitResponse(response);
    return true;
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    response.setHeader(RETRY_AFTER.name, RETRY_AFTER.value);
    respondText(response, 503, `${error.message}\n`);
    return false;
  }
}

function answerStatus(request: IncomingMessage, response: ServerResponse, report: StatusRouteDeps["report"]): void {
  const filter = filterIn(request);
  const page = renderStatusPage(report(filter), { filter, isRefreshing: queryOf(request).get("refresh") !== "off" });
  response.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": Buffer.byteLength(page),
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  });
  response.end(page);
}

/** Lists the active versions too, so that the probes of replicas can be compared. */
function answerReady(response: ServerResponse, { notReady, publication }: Readiness): void {
  if (notReady !== undefined) {
    respondText(response, 503, `not ready: ${notReady}\n`);
    return;
  }
  const sorted = [...publication].toSorted(([left], [right]) => compareCodeUnits(left, right));
  const versions = sorted.map(([fleet, { snapshot }]) => `${fleet} ${snapshot?.version ?? "none yet"}\n`).join("");
  respondText(response, 200, `ready\n${versions}`);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { Location: location, "Content-Length": 0 });
  response.end();
}
