// Tests of open-streams.ts.
import { createLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { GrpcStatus } from "@weir/http2/grpc/status";
import { beforeEach, describe, expect, it } from "vitest";

import type { AdsPeer } from "./ads-peer.ts";
import { OpenStreams, streamIdentity } from "./open-streams.ts";

const ADDRESS = "192.0.2.1:4711";

describe("streamIdentity()", () => {
  const granted = { namespace: "shop", fleet: "core", uri: "spiffe://a/ns/shop/fleet/core" };
  const secure = { address: ADDRESS, certificate: {} };

  it.each([
    { what: "the namespace of the certificate", peer: secure, access: granted, expected: "namespace shop" },
    { what: "that, whatever its fleet", peer: secure, access: { ...granted, fleet: "edge" }, expected: "namespace shop" }, // prettier-ignore
    { what: "else the address", peer: secure, access: undefined, expected: "address 192.0.2.1" },
    { what: "none without certificates", peer: { address: ADDRESS, certificate: undefined }, access: undefined, expected: undefined }, // prettier-ignore
  ])("is $what", ({ peer, access, expected }) => {
    expect(streamIdentity(peer, access)).toBe(expected);
  });
});

describe("OpenStreams", () => {
  const peer: AdsPeer = { address: ADDRESS, certificate: undefined };
  let lines: Record<string, unknown>[];
  let refused: string[];
  let open: OpenStreams<object>;

  beforeEach(() => {
    lines = [];
    refused = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = createLog({ level: "info", format: "json", write });
    open = new OpenStreams(
      {
        warnings: new RateLimitedLog(log, { monotonicMs: () => 0, intervalMs: 1000 }),
        refused: (reason) => refused.push(reason),
      },
      { streamsMax: 4, streamsPerIdentityMax: 2 },
    );
  });

  /** Opens a stream as the listener does; returns it, or the code of the refusal. */
  function connect(identity: string | undefined): object | number {
    const refusal = open.refuseAny(peer) ?? open.refuseOf(peer, identity);
    if (refusal !== undefined) return refusal.code;
    const stream = { identity };
    open.add(stream, identity);
    return stream;
  }

  it("gives no identity more than its part, also while others come and go", () => {
    const [first] = [connect("a"), connect("a")] as [object, object];
    expect(connect("a")).toBe(GrpcStatus.RESOURCE_EXHAUSTED);
    const other = connect("b") as object;
    expect(connect("a")).toBe(GrpcStatus.RESOURCE_EXHAUSTED);
    open.remove(other);
    expect(connect("a")).toBe(GrpcStatus.RESOURCE_EXHAUSTED);
    open.remove(first);
    open.remove(first); // A stream ends on both sides.
    expect(connect("a")).toBeTypeOf("object");
    expect(connect("a")).toBe(GrpcStatus.RESOURCE_EXHAUSTED);
    expect([open.size, open.list()]).toEqual([2, [{ identity: "a" }, { identity: "a" }]]);
  });

  it("bounds clients without an identity together only", () => {
    for (let count = 0; count < 4; count += 1) expect(connect(undefined)).toBeTypeOf("object");
    expect(connect(undefined)).toBe(GrpcStatus.RESOURCE_EXHAUSTED);
    expect(refused).toEqual(["too-many-streams"]);
  });

  it("names the identity, once a second each, and counts every refusal", () => {
    for (const identity of ["a", "a", "a", "b", "b", "b", "b"]) connect(identity);
    expect(refused).toEqual(["too-many-streams-of-identity", "too-many-streams", "too-many-streams"]);
    expect(open.refuseOf(peer, "b")).toEqual({
      code: GrpcStatus.RESOURCE_EXHAUSTED,
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
