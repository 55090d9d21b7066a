// The messages of the API server, the broken ones too, and the bounds of the answers.
import { describe, expect, it } from "vitest";

import { type AdmissionRequest, parseReview, reviewAnswer } from "./admission-review.ts";

const REVIEW = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
const KIND = { group: "ratelimit.weir.dev", version: "v1alpha1", kind: "RateLimitConfig" };
const REQUEST: AdmissionRequest = { uid: "1", group: "g", kind: "k", object: undefined, oldObject: undefined };

function answerOf(problems: readonly string[], warnings: readonly string[]) {
  return (reviewAnswer(REQUEST, { problems, warnings }) as { response: Record<string, unknown> }).response as {
    readonly allowed: boolean;
    readonly status?: { readonly message: string };
    readonly warnings?: readonly string[];
  };
}

describe("parseReview()", () => {
  it("parseReview() reads a request", () => {
    const request = { uid: "1", kind: KIND, object: { a: 1 }, oldObject: null };
    expect(parseReview(JSON.stringify({ ...REVIEW, request }))).toEqual({
      request: {
        uid: "1",
        group: "ratelimit.weir.dev",
        kind: "RateLimitConfig",
        object: { a: 1 },
        oldObject: undefined,
      },
    });
  });

  it.each([
    { body: "", reason: "the body is not JSON" },
    { body: "{", reason: "the body is not JSON" },
    { body: "null", reason: "the body is not an AdmissionReview of admission.k8s.io/v1" },
    { body: "[]", reason: "the body is not an AdmissionReview of admission.k8s.io/v1" },
    {
      body: JSON.stringify({ ...REVIEW, apiVersion: "admission.k8s.io/v1beta1" }),
      reason: "the body is not an AdmissionReview of admission.k8s.io/v1",
    },
    { body: JSON.stringify(REVIEW), reason: "request.uid is missing" },
    { body: JSON.stringify({ ...REVIEW, request: { uid: 1 } }), reason: "request.uid is missing" },
    { body: JSON.stringify({ ...REVIEW, request: { uid: "1" } }), reason: "request.kind is missing" },
    {
      body: JSON.stringify({ ...REVIEW, request: { uid: "1", kind: { kind: "X" } } }),
      reason: "request.kind is missing",
    },
  ])("parseReview() says $reason for $body", ({ body, reason }) => {
    expect(parseReview(body)).toEqual({ reason });
  });
});

describe("reviewAnswer()", () => {
  it("reviewAnswer() allows what has no problem", () => {
    expect(reviewAnswer(REQUEST, { problems: [], warnings: [] })).toEqual({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "1", allowed: true },
    });
  });

  it("reviewAnswer() refuses with every problem on a line", () => {
    expect(answerOf(["a: b", "c: d"], [])).toEqual({
      uid: "1",
      allowed: false,
      status: { code: 422, reason: "Invalid", message: "a: b\nc: d" },
    });
  });

  it("reviewAnswer() has at most 10 warnings of 256 characters, in one line each", () => {
    const { warnings = [] } = answerOf(
      [],
      Array.from({ length: 12 }, (_, index) => `${index}\n${"x".repeat(300)}`),
    );
    expect(warnings).toHaveLength(10);
    expect(warnings[9]).toBe("3 more warnings");
    expect(warnings[0]).toBe(`0 ${"x".repeat(253)}…`);
    expect(warnings.join("").length).toBeLessThan(4096);
  });

  it("reviewAnswer() names at most 10 problems", () => {
    const problems = Array.from({ length: 100 }, (_, index) => `problem ${index}`);
    const { status } = answerOf(problems, []);
    expect(status?.message.split("\n")).toHaveLength(10);
    expect(status?.message).toContain("91 more problems");
  });

  it("reviewAnswer() does not cut a character in two", () => {
    const { warnings = [] } = answerOf([], [`${"x".repeat(254)}😀`]);
    expect(warnings[0]?.isWellFormed()).toBe(true);
  });
});
