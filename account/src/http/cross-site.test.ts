import { describe, expect, it } from "vitest";
import { corsHeaders, isCallAllowed, type OriginOptions, PREFLIGHT_HEADERS } from "./cross-site.ts";

const LISTED = "http://localhost:5173";
const OPTIONS: OriginOptions = {
  allowedOrigins: new Set([LISTED]),
  publicOrigin: () => "https://account.example.com",
  requireOrigin: false,
};

describe("corsHeaders()", () => {
  it("names a listed origin and allows its cookies", () => {
    expect(corsHeaders(LISTED, OPTIONS)).toMatchObject({
      "Access-Control-Allow-Origin": LISTED,
      "Access-Control-Allow-Credentials": "true",
    });
  });

  it.each([
    undefined,
    "http://localhost:5173.evil.com",
    "http://localhost:51730",
    "https://localhost:5173",
    "null",
    "HTTP://LOCALHOST:5173",
    "*",
    "",
  ])("says nothing to %s", (origin) => {
    expect(corsHeaders(origin, OPTIONS)).toBeUndefined();
  });
});

describe("PREFLIGHT_HEADERS", () => {
  it("allow the methods of the service, and the headers of requests and traces", () => {
    expect(PREFLIGHT_HEADERS).toEqual({
      "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
      "Access-Control-Allow-Headers": "Content-Type, X-Request-Id, traceparent, tracestate",
      "Access-Control-Max-Age": "600",
    });
  });
});

describe("isCallAllowed()", () => {
  it.each([
    {
      name: "a call of the very origin",
      secFetchSite: "same-origin",
      origin: "https://account.example.com",
      isAllowed: true,
    },
    { name: "an address typed by hand", secFetchSite: "none", origin: undefined, isAllowed: true },
    { name: "a listed front end on the same site", secFetchSite: "same-site", origin: LISTED, isAllowed: true },
    { name: "a listed front end on another site", secFetchSite: "cross-site", origin: LISTED, isAllowed: true },
    { name: "another site", secFetchSite: "cross-site", origin: "https://evil.example", isAllowed: false },
    {
      name: "a sibling that is not listed",
      secFetchSite: "same-site",
      origin: "https://other.x.com",
      isAllowed: false,
    },
    { name: "another site that hides its origin", secFetchSite: "cross-site", origin: undefined, isAllowed: false },
    { name: "a sandboxed frame", secFetchSite: undefined, origin: "null", isAllowed: false },
    { name: "a sandboxed frame in a new browser", secFetchSite: "cross-site", origin: "null", isAllowed: false },
    {
      name: "an older browser on the very origin",
      secFetchSite: undefined,
      origin: "https://account.example.com",
      isAllowed: true,
    },
    {
      name: "an older browser on another origin",
      secFetchSite: undefined,
      origin: "https://evil.example",
      isAllowed: false,
    },
    { name: "no browser", secFetchSite: undefined, origin: undefined, isAllowed: true },
    { name: "an unknown value", secFetchSite: "sideways", origin: undefined, isAllowed: false },
  ])("is $isAllowed for $name", ({ secFetchSite, origin, isAllowed }) => {
    expect(isCallAllowed({ origin, secFetchSite }, OPTIONS)).toBe(isAllowed);
  });

  it("wants to know the origin when cookies go along across sites", () => {
    expect(isCallAllowed({ origin: undefined, secFetchSite: undefined }, { ...OPTIONS, requireOrigin: true })).toBe(
      false,
    );
  });
});
