// Tests of api-failure.ts and api-resource.ts: the paths of requests, and the messages of failures.
import { describe, expect, it } from "vitest";

import { ApiFailure, type ErrorAnswer, failureOfAnswer, failureOfConnection } from "./api-failure.ts";
import { type ApiResource, requestPath, resourceOf } from "./api-resource.ts";

function rateLimitConfigsIn(namespace: string | undefined): ApiResource {
  return {
    group: "ratelimit.weir.dev",
    version: "v1alpha1",
    plural: "ratelimitconfigs",
    namespace,
    labelSelector: undefined,
  };
}

const LIST_ALL = { verb: "list", resource: rateLimitConfigsIn(undefined) } as const;
const WATCH_ONE = { verb: "watch", resource: rateLimitConfigsIn("team") } as const;
const LIST_NAMESPACES = {
  verb: "list",
  resource: { group: "", version: "v1", plural: "namespaces", namespace: undefined, labelSelector: "limits=on" },
} as const;

describe("requestPath()", () => {
  it.each([
    { resource: LIST_ALL.resource, parameters: {}, path: "/apis/ratelimit.weir.dev/v1alpha1/ratelimitconfigs" },
    {
      resource: WATCH_ONE.resource,
      parameters: { watch: "1", continue: "" },
      path: "/apis/ratelimit.weir.dev/v1alpha1/namespaces/team/ratelimitconfigs?watch=1",
    },
    {
      resource: LIST_NAMESPACES.resource,
      parameters: { limit: "5", continue: "a+b/c=" },
      path: "/api/v1/namespaces?limit=5&continue=a%2Bb%2Fc%3D&labelSelector=limits%3Don",
    },
  ])("gives $path", ({ resource, parameters, path }) => {
    expect(requestPath(resource, parameters)).toBe(path);
  });
});

describe("failureOfAnswer()", () => {
  const said = (code: number, message: string, more: object = {}): ErrorAnswer => ({
    code,
    status: { kind: "Status", code, message, ...more },
  });

  it.each([
    {
      request: LIST_ALL,
      answer: said(403, 'ratelimitconfigs is forbidden: User "x" cannot list'),
      kind: "forbidden",
      message:
        'Cannot list ratelimitconfigs.ratelimit.weir.dev in all namespaces: this account lacks the verb "list" on "ratelimitconfigs" of API group ratelimit.weir.dev in the whole cluster, grant it with a role; the server says "User "x" cannot list"',
    },
    {
      request: WATCH_ONE,
      answer: said(403, "no"),
      kind: "forbidden",
      message:
        'Cannot watch ratelimitconfigs.ratelimit.weir.dev in namespace team: this account lacks the verb "watch" on "ratelimitconfigs" of API group ratelimit.weir.dev in namespace team, grant it with a role; the server says "no"',
    },
    {
      request: LIST_NAMESPACES,
      answer: said(403, "no"),
      kind: "forbidden",
      message:
        'Cannot list namespaces with labels limits=on: this account lacks the verb "list" on "namespaces" of the core API group in the whole cluster, grant it with a role; the server says "no"',
    },
    {
      request: LIST_ALL,
      answer: { code: 404, status: undefined },
      kind: "refused",
      message:
        "Cannot list ratelimitconfigs.ratelimit.weir.dev in all namespaces: the CustomResourceDefinition ratelimitconfigs.ratelimit.weir.dev is not installed in version v1alpha1, install it with kubectl apply --server-side -f ratelimitconfigs.yaml; the server says HTTP status 404",
    },
    {
      request: LIST_NAMESPACES,
      answer: { code: 404, status: null },
      kind: "refused",
      message:
        "Cannot list namespaces with labels limits=on: the address is not that of a Kubernetes API server; the server says HTTP status 404",
    },
    {
      request: LIST_ALL,
      answer: said(401, "Unauthorized"),
      kind: "unauthorized",
      message:
        'Cannot list ratelimitconfigs.ratelimit.weir.dev in all namespaces: the credentials are not accepted, the server says "Unauthorized"',
    },
    {
      request: LIST_NAMESPACES,
      answer: said(400, "unable to parse requirement"),
      kind: "refused",
      message: 'Cannot list namespaces with labels limits=on: the server says "unable to parse requirement"',
    },
  ])("has the remedy for status $answer.code: $message", ({ request, answer, kind, message }) => {
    const failure = failureOfAnswer(request, answer);
    expect([failure.kind, failure.message, failure.code, failure.retryAfterMs]).toEqual([
      kind,
      message,
      "SOURCE_UNREADABLE",
      0,
    ]);
  });

  it.each([
    { answer: said(410, "too old resource version: 1 (5)", { reason: "Expired" }), kind: "expired" },
    { answer: said(500, "x", { reason: "Expired" }), kind: "expired" },
    { answer: said(500, "x", { reason: "Gone" }), kind: "expired" },
    { answer: said(410, "gone, and no reason"), kind: "expired" },
    { answer: said(504, "Timeout: Too large resource version: 900, current: 20"), kind: "expired" },
    { answer: said(504, "x", { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } }), kind: "expired" },
    { answer: said(429, "too many requests"), kind: "unavailable" },
    { answer: said(503, "apiserver not ready"), kind: "unavailable" },
    { answer: said(500, "etcdserver: leader changed"), kind: "unavailable" },
    { answer: said(405, "method not allowed"), kind: "refused" },
  ])("classifies $answer.code $answer.message as $kind", ({ answer, kind }) => {
    expect(failureOfAnswer(LIST_ALL, answer).kind).toBe(kind);
  });

  it.each([
    { header: 0, details: undefined, waitMs: 0 },
    { header: 3, details: undefined, waitMs: 3000 },
    { header: 0, details: { retryAfterSeconds: 7 }, waitMs: 7000 },
    { header: 3, details: { retryAfterSeconds: 1 }, waitMs: 3000 },
    { header: 0, details: { retryAfterSeconds: -1 }, waitMs: 0 },
    { header: 0, details: { retryAfterSeconds: "7" }, waitMs: 0 },
    { header: NaN, details: undefined, waitMs: 0 },
    { header: -3, details: undefined, waitMs: 0 },
    { header: 3, details: null, waitMs: 3000 },
    { header: 9000, details: undefined, waitMs: 60_000 },
  ])("waits $waitMs ms when header and body ask for $header s and $details", ({ header, details, waitMs }) => {
    const answer = { code: 429, status: { code: 429, details }, retryAfterSeconds: header };
    expect(failureOfAnswer(LIST_ALL, answer).retryAfterMs).toBe(waitMs);
  });

  // Texts of an API server 1.33.
  it.each([
    {
      message:
        'ratelimitconfigs.ratelimit.weir.dev "shop" is forbidden: User "system:serviceaccount:weir-system:weir-operator" cannot patch resource "ratelimitconfigs/status" in API group "ratelimit.weir.dev" in the namespace "web"',
      kind: "forbidden",
      reason:
        'this account lacks the verb "patch" on "deployments" of API group apps in namespace web, grant it with a role; the server says "User "system:serviceaccount:weir-system:weir-operator" cannot patch resource "ratelimitconfigs/status" in API group "ratelimit.weir.dev" in the namespace "web""',
    },
    {
      message:
        'deployments.apps "edge" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: , <nil>',
      kind: "forbidden",
      reason: /^this account lacks the verb "update" on the finalizers of the owner, grant it with a role; the server/,
    },
    {
      message:
        'deployments.apps "edge" is forbidden: exceeded quota: few, requested: count/deployments.apps=1, used: count/deployments.apps=2, limited: count/deployments.apps=2',
      kind: "refused",
      reason: /^a quota of the namespace does not allow it; the server says "deployments.apps "edge" is forbidden: exc/,
    },
    {
      message: 'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
      kind: "refused",
      reason: /^the cluster's admission does not allow it; the server says "pods "a" is forbidden: maximum cpu/,
    },
    {
      message: 'pods "a" is forbidden: violates PodSecurity "restricted:latest": privileged',
      kind: "refused",
      reason: /^the cluster's admission does not allow it; the server says/,
    },
    {
      message:
        'deployments.apps "edge" is forbidden: ValidatingAdmissionPolicy \'p\' denied request: User "x" cannot do it',
      kind: "refused",
      reason: /^the cluster's admission does not allow it; the server says/,
    },
    {
      message: undefined,
      kind: "refused",
      reason: "the cluster's admission does not allow it; the server says HTTP status 403",
    },
  ])("tells a missing right from what admission denies to a write: $message", ({ message, kind, reason }) => {
    const request = {
      verb: "patch",
      resource: { ...resourceOf({ group: "apps", version: "v1", plural: "deployments" }, "web"), name: "edge" },
    } as const;
    const failure = failureOfAnswer(request, {
      code: 403,
      status: { kind: "Status", code: 403, reason: "Forbidden", message },
    });
    expect([failure.kind, failure.isRefusal]).toEqual([kind, true]);
    expect(failure.reason).toMatch(reason instanceof RegExp ? reason : new RegExp(`^${RegExp.escape(reason)}$`));
  });

  it("has one reason for all objects of a namespace that lack the same right", () => {
    const failures = ["a", "b"].map((name) =>
      failureOfAnswer(
        LIST_ALL,
        said(403, `ratelimitconfigs "${name}" is forbidden: User "x" cannot patch resource "y"`),
      ),
    );
    expect(new Set(failures.map(({ reason }) => reason)).size).toBe(1);
  });

  it.each([
    { answer: said(422, "spec.domain: Required value"), isRefused: true },
    { answer: said(413, "Request entity too large: limit is 3145728"), isRefused: true },
    { answer: said(500, "etcdserver: request is too large"), isRefused: true },
    { answer: said(500, "rpc error: trying to send message larger than max (2 vs. 1)"), isRefused: true },
    { answer: said(500, "etcdserver: leader changed"), isRefused: false },
    { answer: said(403, "exceeded quota"), isRefused: false },
    { answer: said(404, "not found"), isRefused: false },
    { answer: said(409, "conflict"), isRefused: false },
  ])("says of $answer.code $answer.message whether the content is refused: $isRefused", ({ answer, isRefused }) => {
    expect(failureOfAnswer(LIST_ALL, answer).isContentRefused).toBe(isRefused);
  });

  it("quotes only the beginning of a long answer", () => {
    expect(failureOfAnswer(LIST_ALL, said(400, "x".repeat(5000))).message.length).toBeLessThan(700);
  });
});

describe("failureOfConnection()", () => {
  it("names the server and what happened, and leaves a failure as it is", () => {
    const failure = failureOfConnection(LIST_ALL, "https://10.0.0.1", new Error("connect ECONNREFUSED"));
    expect([failure.kind, failure.message]).toEqual([
      "unreachable",
      "Cannot list ratelimitconfigs.ratelimit.weir.dev in all namespaces: no answer from https://10.0.0.1: connect ECONNREFUSED",
    ]);
    expect(failureOfConnection(LIST_ALL, "x", failure)).toBe(failure);
    expect(failure).toBeInstanceOf(ApiFailure);
  });
});
