// The span of each request, which continues the trace of its caller. It has nothing personal: no
// path, address or user.
import type { RequestHandler } from "express";
import type { Tracing } from "@weir/common/tracing/tracing";
import { contextOf } from "./request-context.ts";

/** Methods as OpenTelemetry's conventions for HTTP spans know them; every other one is "_OTHER". */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
]);

/** Records a span per request, and runs what follows within it; does nothing without tracing. */
export function traceRequests(tracing: Tracing): RequestHandler {
  if (tracing.tracer === undefined) return (_request, _response, next) => next();
  return (request, response, next) => {
    const method = KNOWN_METHODS.has(request.method) ? request.method : "_OTHER";
    const parent = tracing.extract(request.headers);
    const span = tracing.startServerSpan(
      method,
      { "http.request.method": method, "url.scheme": request.protocol },
      parent,
    );
    response.once("close", () => {
      const { route, failure } = contextOf(response);
      span.updateName(`${method} ${route}`);
      span.setAttribute("http.route", route);
      span.setAttribute("http.response.status_code", response.statusCode);
      if (failure !== undefined) span.setAttribute("error.type", failure);
      if (response.statusCode >= 500) tracing.markFailed(span, failure ?? String(response.statusCode));
      span.end();
    });
    tracing.run(tracing.below(parent, span), next);
  };
}
