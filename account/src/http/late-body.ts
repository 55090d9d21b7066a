// The end of a body that comes too slowly: its reader stops, and the call ends with an error that a
// page can read.
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { AccountError } from "../errors.ts";

/** The error for a request that does not come in time. */
export function requestTimeout(): AccountError {
  return new AccountError("request_timeout", "The request did not arrive in time.");
}

/** Calls `late` when the body is too slow; returns the function that ends this. */
export function onLateBody(request: IncomingMessage, late: (error: AccountError) => void): () => void {
  const listener = (): void => late(requestTimeout());
  request.once("timeout", listener);
  return () => void request.off("timeout", listener);
}

/** A step that reads the body, ended when that is too slow: what it does then has no effect. */
export function endWhenLate(step: RequestHandler): RequestHandler {
  return (request, response, next) => {
    let isDone = false;
    const finish = (error?: unknown): void => {
      if (isDone) return;
      isDone = true;
      stop();
      next(error);
    };
    const stop = onLateBody(request, finish);
    void step(request, response, finish);
  };
}
