import { describe, expect, it } from "vitest";

import { findRefusal } from "./profile-guard.ts";

const RULE = "profiles hold secrets: only for this machine itself, unless DEBUG_PROFILING=true";

describe("findRefusal()", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1:6070"],
    ["127.0.0.1", "localhost:6070"],
    ["::1", "[::1]:6070"],
    ["::ffff:127.0.0.1", "LOCALHOST"],
    ["127.0.0.1", undefined],
  ])("findRefusal() lets %s have them when it asks for %s", (remoteAddress, host) => {
    expect(
      findRefusal({ headers: { ...(host !== undefined && { host }) }, socket: { remoteAddress } }),
    ).toBeUndefined();
  });

  it.each([
    ["a peer elsewhere", "10.0.0.1", { host: "localhost" }, RULE],
    ["a peer elsewhere, as IPv6 carries it", "::ffff:10.0.0.1", { host: "localhost" }, RULE],
    ["a peer elsewhere, whose connection Istio's sidecar passes on", "127.0.0.6", { host: "localhost" }, RULE],
    ["no peer any more", undefined, { host: "localhost" }, RULE],
    [
      "a proxy on this machine",
      "127.0.0.1",
      { host: "localhost", "x-forwarded-for": "10.0.0.1" },
      `${RULE}; this request came through a proxy, it has the header x-forwarded-for`,
    ],
    [
      "a web page with a name of its own for this machine",
      "127.0.0.1",
      { host: "rebound.example:6070" },
      `${RULE}; ask for it by 127.0.0.1, [::1] or localhost`,
    ],
    [
      "a name that only begins like it",
      "127.0.0.1",
      { host: "127.0.0.1.example" },
      `${RULE}; ask for it by 127.0.0.1, [::1] or localhost`,
    ],
  ])("findRefusal() refuses %s", (_what, remoteAddress, headers, refusal) => {
    expect(findRefusal({ headers, socket: { remoteAddress } })).toBe(refusal);
  });
});
