// What the HTTP listener answers: status, probes, metrics. The listener itself is common's.
import type { IncomingMessage, ServerResponse } from "node:http";

import { type AdminRoute, respondJson, respondText } from "@weir/common/admin/admin-server";

import { type AnswerBound, deliveryOfResponse, RETRY_AFTER } from "../report/answer-bound.ts";
import { ReportError } from "../report/report-error.ts";
import type { Readiness } from "../report/readiness.ts";
import type { Metrics } from "./metrics.ts";
import { CONTENT_SECURITY_POLICY, renderStatusPage } from "./status-page.ts";
import type { RolloutFilter, RolloutReport } from "../report/rollout-report.ts";

/** What the routes answer from. */
export interface StatusRouteDeps {
  readonly report: (filter?: RolloutFilter) => RolloutReport;
  readonly readiness: () => Readiness;
  /** Bounds the answers that hold a whole report. */
  readonly answers: AnswerBound;
  readonly metrics: Metrics;
}

/** The routes. */
export function statusRoutes({ report, readiness, answers, metrics }: StatusRouteDeps): readonly AdminRoute[] {
  return [
    {
      path: "/status",
      help: "what is served, what is refused, and which pod has accepted which version (JSON with ?format=json; ?fleet=, ?namespace= and ?name= narrow)",
      handle: (request, response) => {
        if (isAdmitted(response, answers)) answerStatus(request, response, report);
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

/** Whether the client asks for JSON: by the query, or because it accepts JSON and not HTML. */
export function wantsJson(request: Pick<IncomingMessage, "url" | "headers">): boolean {
  const format = queryOf(request).get("format");
  if (format !== null) return format === "json";
  const accept = request.headers.accept ?? "";
  return accept.includes("application/json") && !accept.includes("text/html");
}

/**
 * What the query narrows the state to; what is empty narrows nothing, as an empty field of a form.
 */
export function filterIn(request: Pick<IncomingMessage, "url">): RolloutFilter {
  const query = queryOf(request);
  const told = (name: string): string | undefined => {
    const value = query.get(name);
    return value === null || value === "" ? undefined : value;
  };
  return { fleet: told("fleet"), namespace: told("namespace"), name: told("name") };
}

/** The query of any request target, even one that is no URL. */
function queryOf({ url = "" }: Pick<IncomingMessage, "url">): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
}

/** Whether there may be one answer more; if not, the client is told so. */
function isAdmitted(response: ServerResponse, answers: AnswerBound): boolean {
  try {
    answers.admit(deliveryOfResponse(response));
    return true;
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    response.setHeader(RETRY_AFTER.name, RETRY_AFTER.value);
    respondText(response, 503, `${error.message}\n`);
    return false;
  }
}

function answerStatus(request: IncomingMessage, response: ServerResponse, report: StatusRouteDeps["report"]): void {
  response.setHeader("Vary", "Accept");
  const filter = filterIn(request);
  if (wantsJson(request)) {
    respondJson(response, 200, report(filter));
    return;
  }
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

/** Tells the versions too, so that replicas can be compared by looking at their probes. */
function answerReady(response: ServerResponse, { notReady, fleets }: Readiness): void {
  if (notReady !== undefined) {
    respondText(response, 503, `not ready: ${notReady}\n`);
    return;
  }
  const versions = fleets.map(({ fleet, version }) => `${fleet} ${version ?? "none yet"}\n`).join("");
  respondText(response, 200, `ready\n${versions}`);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { Location: location, "Content-Length": 0 });
  response.end();
}
