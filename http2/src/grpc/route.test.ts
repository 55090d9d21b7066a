// Tests of finding the method of a request.
import { expect, it } from "vitest";

import type { RequestHead } from "../headers/request-head.ts";
import type { UnaryMethod } from "./method.ts";
import { findRoute } from "./route.ts";

const METHOD: UnaryMethod = { kind: "unary", handle: () => {} };
const METHODS = new Map([["/a.Service/Method", METHOD]]);

function head(changes: Partial<Record<keyof RequestHead, unknown>> = {}): RequestHead {
  const fields = { method: "POST", path: "/a.Service/Method", isGrpc: true, timeoutMs: undefined, encoding: undefined };
  return { ...fields, ...changes } as unknown as RequestHead;
}

it("findRoute() finds the method", () => {
  expect(findRoute(METHODS, head())).toBe(METHOD);
  expect(findRoute(METHODS, head({ encoding: "identity", timeoutMs: 20 }))).toBe(METHOD);
});

it.each([
  [
    { isGrpc: false, method: "GET" },
    { kind: "http", status: 415 },
  ],
  [{ method: "PUT" }, { kind: "http", status: 405 }],
  [{ path: "/a.Service/Other" }, { kind: "grpc", status: 12, message: "unknown method Other for service a.Service" }],
  [{ path: "/a.Serv/Method" }, { kind: "grpc", status: 12, message: "unknown service a.Serv" }],
  [{ path: "/a.Service/x/Method" }, { kind: "grpc", status: 12, message: "unknown service a.Service/x" }],
  [{ path: "a.Service/Method" }, { kind: "grpc", status: 12, message: 'malformed method name: "a.Service/Method"' }],
  [{ path: "/Method" }, { kind: "grpc", status: 12, message: 'malformed method name: "/Method"' }],
  [{ encoding: "gzip" }, { kind: "grpc", status: 12, namesEncodings: true }],
  [{ timeoutMs: NaN }, { kind: "grpc", status: 13, message: "malformed grpc-timeout" }],
])("findRoute() refuses %j", (changes, refusal) => {
  expect(findRoute(METHODS, head(changes))).toMatchObject(refusal);
});
