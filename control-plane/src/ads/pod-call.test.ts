// Tests of pod-call.ts: why calls end, and when their streams are closed.
import { create, toBinary } from "@bufbuild/protobuf";
import { silentLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { StreamingCall } from "@weir/http2/grpc/method";
import { requestOf, type RequestText } from "@weir/harness/ads/pod-end";
import { HEARTBEAT_FEATURE } from "@weir/proto/grpc/heartbeat";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { PodRegistry } from "../pods/pod-registry.ts";
import { snapshotOf } from "../snapshot/snapshots-of.suite.ts";
import { PodCall } from "./pod-call.ts";
import { FakePublisher } from "./stream/fake-ads-stream.suite.ts";
import { PodStream } from "./stream/pod-stream.ts";
import { SendSemaphore } from "./stream/send-semaphore.ts";

const DENIED = { code: 7, details: "another fleet" };
const FLEET = "core";

/** A call whose client takes messages only when the test says so. */
class FakeCall {
  readonly events: string[] = [];
  onReset = (): void => undefined;

  sendShared(): boolean {
    this.events.push("message");
    return true;
  }

  end(status: number, message: string): void {
    this.events.push(`end ${status} ${message}`);
  }

  reset(): void {
    this.events.push("reset");
    this.onReset();
  }
}

describe("PodCall", () => {
  let call: FakeCall;
  let pod: PodCall;
  let pods: PodRegistry;
  let closed: PodCall[];

  beforeEach(() => {
    vi.useFakeTimers();
    call = new FakeCall();
    pods = new PodRegistry({ clock: () => 0 });
    closed = [];
    const publisher = new FakePublisher(snapshotOf({ name: "a", domain: "alpha" }));
    pod = new PodCall(
      call as unknown as StreamingCall,
      {
        createStream: (channel) =>
          new PodStream(
            { channel, publisher, pods, clock: () => 0, semaphore: new SendSemaphore(), log: silentLog() },
            { identifier: "replica-1", kind: "aggregated", snapshotMaxBytes: 1_000_000 },
          ),
        refuseNode: (node) => (node?.id.startsWith(FLEET) === true ? undefined : DENIED),
        warnings: new RateLimitedLog(silentLog(), { monotonicMs: () => 0, intervalMs: 1000 }),
        silent: () => call.events.push("silent"),
        closed: (each) => closed.push(each),
      },
      { kind: "aggregated", peer: "192.0.2.1:4711", firstRequestMaxMs: 5000 },
    );
    call.onReset = () => pod.closed();
  });

  afterEach(() => {
    pod.closed();
    vi.useRealTimers();
  });

  function request(text: RequestText): void {
    const bytes = Buffer.from(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, requestOf(text))));
    pod.message(bytes, 0, bytes.length);
  }

  const NODE = { id: `${FLEET}/pod-1` };

  it.each([
    { why: "names another node", act: () => request({ node: { id: "edge/pod-1" } }) },
    { why: "violates the protocol", act: () => request({ node: NODE, type: "" }) },
    { why: "sends no message of its type", act: () => pod.message(Buffer.from([0xff]), 0, 1) },
  ])("is reset a second after it was refused, while the client does not read, when it $why", ({ act }) => {
    request({ node: NODE });
    expect([call.events, pods.list().length]).toEqual([["message"], 1]);
    act();
    expect(pods.list()).toEqual([]);
    request({ node: NODE });
    vi.advanceTimersByTime(999);
    expect([call.events, closed]).toEqual([["message"], []]);
    vi.advanceTimersByTime(1);
    expect([call.events, closed]).toEqual([["message", "reset"], [pod]]);
  });

  it.each([
    { why: "names another node", act: () => request({ node: { id: "edge/pod-1" } }), end: "end 7 another fleet" },
    { why: "hangs", act: () => vi.advanceTimersByTime(10_001), end: "end 4 nothing came within 10000 ms" },
  ])("gets the reason when it reads and $why", ({ act, end }) => {
    request({ node: { ...NODE, clientFeatures: [HEARTBEAT_FEATURE] } });
    while (call.events.length < 2) pod.sent();
    pod.sent();
    act();
    while (closed.length === 0) pod.sent();
    expect(call.events.filter((event) => event !== "message")).toEqual([end, "reset"]);
  });

  it("ends the call of a client that sends no request, and counts it", () => {
    vi.advanceTimersByTime(5000);
    expect(call.events).toEqual(["silent", "end 4 no request came within 5000 ms", "reset"]);
  });

  it("sends what is being sent before it leaves, however long that takes", () => {
    request({ node: NODE });
    pod.leave({ code: 14, details: "the control plane is shutting down, connect again" });
    vi.advanceTimersByTime(60_000);
    expect(call.events).toEqual(["message"]);
    pod.sent();
    expect(call.events).toEqual(["message", "end 14 the control plane is shutting down, connect again", "reset"]);
  });
});
