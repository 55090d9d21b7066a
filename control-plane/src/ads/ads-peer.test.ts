// Tests of ads-peer.ts.
import { describe, expect, it } from "vitest";

import { peerAddress } from "@weir/common/net/listen";

import { addressOf } from "./ads-peer.ts";

describe("peerAddress() and addressOf()", () => {
  it.each([
    { host: "192.0.2.1", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { host: "::ffff:192.0.2.1", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { host: "::FFFF:192.0.2.1", expected: "192.0.2.1:4711", address: "192.0.2.1" },
    { host: "2001:db8::1", expected: "[2001:db8::1]:4711", address: "[2001:db8::1]" },
    { host: "::ffff:1:2", expected: "[::ffff:1:2]:4711", address: "[::ffff:1:2]" },
  ])("give $expected and $address for $host", ({ host, expected, address }) => {
    const peer = peerAddress({ remoteAddress: host, remotePort: 4711 });
    expect([peer, addressOf({ address: peer, certificate: undefined })]).toEqual([expected, address]);
  });
});
