// Tests of status-routes.ts: what a request for the status asks for.
import { describe, expect, it } from "vitest";

import { filterIn, wantsJson } from "./status-routes.ts";

describe("wantsJson()", () => {
  it.each([
    { url: "/status", accept: undefined, expected: false },
    { url: "/status?format=json", accept: "text/html", expected: true },
    { url: "/status?format=html", accept: "application/json", expected: false },
    { url: "/status", accept: "application/json", expected: true },
    { url: "/status", accept: "text/html,application/xhtml+xml,application/json;q=0.9", expected: false },
    { url: "/status", accept: "*/*", expected: false },
  ])("says $expected for $url with Accept $accept", ({ url, accept, expected }) => {
    expect(wantsJson({ url, headers: accept === undefined ? {} : { accept } })).toBe(expected);
  });
});

describe("filterIn()", () => {
  it.each([
    { url: "/status", expected: {} },
    { url: "/status?fleet=gold&namespace=red&name=a", expected: { fleet: "gold", namespace: "red", name: "a" } },
    { url: "/status?fleet=&namespace=&name=a%2Fb", expected: { name: "a/b" } },
    { url: undefined, expected: {} },
    { url: "//", expected: {} },
  ])("reads $expected from $url", ({ url, expected }) => {
    expect(filterIn(url === undefined ? {} : { url })).toEqual(expected);
  });
});
