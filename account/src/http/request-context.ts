// The context of a request while it is answered: its id, its log, and its route.
import { randomUUID } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import { callerGroup, withoutPorts } from "@weir/common/callers/caller-group";
import type { Log } from "@weir/common/log/log";
import type { CallErrorCode } from "../errors.ts";
import { ipPrefix, shortUserAgent } from "../sessions/session-records.ts";
import type { Caller } from "../users/account-deps.ts";

/** Ids of callers that are taken over; anything else could be made to confuse a log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

export interface RequestContext {
  readonly id: string;
  readonly caller: Caller;
  /** Pattern of the matched route; the raw path would make a metric of every typing error. */
  route: string;
  /** The code of the error with which the call ended; undefined while it has not, and after success. */
  failure?: CallErrorCode;
  /** True on routes whose refusal ends the session in the browser too. */
  clearCookiesWhenRefused: boolean;
}

/** Gives every request its context, and its answer the id. */
export function attachContext(log: Log, { trustsProxy }: { readonly trustsProxy: boolean }): RequestHandler {
  let isWarned = trustsProxy;
  return (request, response, next) => {
    const forwardedFor = request.headers["x-forwarded-for"];
    if (forwardedFor !== undefined && !isWarned) {
      isWarned = true;
      log.warn("A request has X-Forwarded-For, which is ignored: all callers of a proxy count as one", {
        setting: "TRUST_PROXY",
      });
    }
    if (forwardedFor !== undefined) request.headers["x-forwarded-for"] = withoutPorts(String(forwardedFor));
    const given = request.get("x-request-id");
    const id = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
    const group = callerGroup(request.ip, request.socket.remoteAddress);
    const device = { userAgent: shortUserAgent(request.get("user-agent")), ipPrefix: ipPrefix(group) };
    const context: RequestContext = {
      id,
      // Every line about a call names the network it came from.
      caller: { device, group, log: log.child({ requestId: id, addressPrefix: group.address }) },
      route: "unknown",
      clearCookiesWhenRefused: false,
    };
    response.locals["context"] = context;
    response.setHeader("X-Request-Id", id);
    next();
  };
}

/** The context of a request that `attachContext` has seen. */
export function contextOf(response: Response): RequestContext {
  return response.locals["context"] as RequestContext;
}

/** A short description of a request for the log, without any field that may hold a secret. */
export function describeRequest(request: Request, response: Response): Readonly<Record<string, unknown>> {
  return { method: request.method, route: contextOf(response).route };
}
