// Tests of peer-address.ts.
import { describe, expect, it } from "vitest";

import { addressOf, peerOf } from "./peer-address.ts";

describe("peerOf() and addressOf()", () => {
  it.each([
    { peer: "192.0.2.1:4711", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { peer: "::ffff:192.0.2.1:4711", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { peer: "::FFFF:192.0.2.1:4711", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { peer: "2001:db8::1:4711", expected: "[2001:db8::1]:4711", address: "[2001:db8::1]" },
    { peer: "::1:4711", expected: "[::1]:4711", address: "[::1]" },
    { peer: "::ffff:1:2:4711", expected: "[::ffff:1:2]:4711", address: "[::ffff:1:2]" },
    { peer: "unknown", expected: "unknown", address: "unknown" },
  ])("give $expected and $address for $peer of grpc-js", ({ peer, expected, address }) => {
    const call = { getPeer: () => peer };
    expect([peerOf(call), addressOf(call)]).toEqual([expected, address]);
  });
});
