// The routes of the HTTP listener but the rollout API: probes and metrics.
import type { IncomingMessage, ServerResponse } from "node:http";

import { type AdminRoute, respondJson, respondText } from "@weir/common/admin/admin-server";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { Publication } from "../snapshot/publication.ts";
import type { Metrics } from "./metrics.ts";

/** The paths that are no reports. */
const PROBES = new Set(["/healthz", "/readyz", "/metrics"]);

/** The readiness of the replica. */
export interface Readiness {
  /** Why not; undefined when it is. */
  readonly notReady: string | undefined;
  readonly publication: Publication;
}

export interface StatusRouteDeps {
  readonly readiness: () => Readiness;
  readonly metrics: Metrics;
}

/** The routes. */
export function statusRoutes({ readiness, metrics }: StatusRouteDeps): readonly AdminRoute[] {
  return [
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
