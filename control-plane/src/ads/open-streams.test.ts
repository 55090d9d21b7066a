// Tests of open-streams.ts.
import { status } from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { beforeEach, describe, expect, it } from "vitest";

import { OpenStreams, streamIdentity } from "./open-streams.ts";
import type { PeerCall } from "./peer-address.ts";

describe("streamIdentity()", () => {
  const call = { getPeer: () => "::ffff:192.0.2.1:4711" };

  it("is the namespace of the certificate, whatever its fleet, else the address", () => {
    const granted = { namespace: "shop", fleet: "core", uri: "spiffe://a/ns/shop/fleet/core" };
    expect(streamIdentity(call, granted)).toBe("namespace shop");
    expect(streamIdentity(call, { ...granted, fleet: "edge" })).toBe("namespace shop");
    expect(streamIdentity(call, undefined)).toBe("address 192.0.2.1");
  });
});

describe("OpenStreams", () => {
  const peer: PeerCall = { getPeer: () => "192.0.2.1:4711" };
  let lines: Record<string, unknown>[];
  let refused: string[];
  let open: OpenStreams<PeerCall, string>;

  beforeEach(() => {
    lines = [];
    refused = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = createLog({ level: "info", format: "json", write });
    open = new OpenStreams(
      {
        warnings: new RateLimitedLog(log, { clock: () => 0, intervalMs: 1000 }),
        refused: (reason) => refused.push(reason),
      },
      { streamsMax: 4, streamsPerIdentityMax: 2 },
    );
  });

  /** Opens a stream as the listener does; returns its call, or the code of the refusal. */
  function connect(identity: string): PeerCall | status | undefined {
    const refusal = open.refuseAny(peer) ?? open.refuseOf(peer, identity);
    if (refusal !== undefined) return refusal.code;
    const call = { ...peer };
    open.add(call, identity, identity);
    return call;
  }

  it("gives no identity more than its part, also while others come and go", () => {
    const [first] = [connect("a"), connect("a")] as [PeerCall, PeerCall];
    expect(connect("a")).toBe(status.RESOURCE_EXHAUSTED);
    const other = connect("b") as PeerCall;
    expect(connect("a")).toBe(status.RESOURCE_EXHAUSTED);
    open.remove(other);
    expect(connect("a")).toBe(status.RESOURCE_EXHAUSTED);
    open.remove(first);
    open.remove(first); // A stream ends on both sides.
    expect(connect("a")).toBeTypeOf("object");
    expect(connect("a")).toBe(status.RESOURCE_EXHAUSTED);
    expect([open.size, [...open.streams()], open.calls().length]).toEqual([2, ["a", "a"], 2]);
  });

  it("names the identity, once a second each, and counts every refusal", () => {
    for (const identity of ["a", "a", "a", "b", "b", "b", "b"]) connect(identity);
    expect(refused).toEqual(["too-many-streams-of-identity", "too-many-streams", "too-many-streams"]);
    expect(open.refuseOf(peer, "b")).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      details: "the b has its maximum of streams on this replica, ADS_STREAMS_PER_IDENTITY=2",
    });
    open.refuseOf(peer, "b");
    const message = "Refused a pod, its namespace or address has its maximum of streams on this replica";
    expect(lines.filter((line) => line["@message"] === message)).toMatchObject([
      { level: "warning", peer: "192.0.2.1:4711", identity: "a", streams: 2 },
      { level: "warning", peer: "192.0.2.1:4711", identity: "b", streams: 2 },
    ]);
  });
});
