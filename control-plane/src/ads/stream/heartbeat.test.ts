// Tests of heartbeat.ts on a stream: who is sent heartbeats, and when a pod is given up.
import { HEARTBEAT_FEATURE } from "@weir/proto/grpc/heartbeat";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { PodRegistry } from "../../pods/pod-registry.ts";
import { largeSnapshot, snapshotOf } from "../../snapshot/snapshots-of.suite.ts";
import { FakeAdsStream, FakePublisher } from "./fake-ads-stream.suite.ts";
import { SendSemaphore } from "./send-semaphore.ts";

const ONE = snapshotOf({ name: "a", domain: "alpha" });
const NODE = { id: "pod-1", clientFeatures: [HEARTBEAT_FEATURE] };

/** A response of so many bytes may take 20 s longer. */
const LARGE_BYTES = 20 * 64 * 1024;

/** The fake clock runs an immediate so much later. */
const IMMEDIATE_MS = 1;

describe("Heartbeat", () => {
  let pods: PodRegistry;

  beforeEach(() => {
    vi.useFakeTimers();
    pods = new PodRegistry({ clock: () => 0 });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function connect(publisher = new FakePublisher(ONE)): FakeAdsStream {
    return new FakeAdsStream(publisher, { pods, snapshotMaxBytes: 10 * LARGE_BYTES });
  }

  /** Lets time pass; the pod answers each heartbeat immediately. */
  function pass(pod: FakeAdsStream, seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      const before = pod.heartbeats.length;
      vi.advanceTimersByTime(1000);
      if (pod.heartbeats.length > before) pod.answerHeartbeat();
    }
  }

  it("begins before the first response, comes every 5 s, and announces that the next comes within 10 s", () => {
    const pod = connect(new FakePublisher());
    pod.request({ node: NODE });
    pass(pod, 15);
    expect(pod.heartbeats.map(({ versionInfo }) => versionInfo)).toEqual(["10000", "10000", "10000", "10000"]);
    expect(pod.responses).toEqual([]);
  });

  it("is not sent to a pod that does not ask for it, which may be silent", () => {
    const pod = connect();
    pod.request({ node: { id: "pod-1" } });
    pod.accept();
    vi.advanceTimersByTime(3_600_000);
    expect([pod.heartbeats, pod.hungMs]).toEqual([[], undefined]);
    expect(pods.list()).toHaveLength(1);
  });

  it("is not sent on a stream of one type, where an answer would be a violation", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE), { kind: "single-type" });
    pod.request({ node: NODE });
    vi.advanceTimersByTime(60_000);
    expect([pod.heartbeats, pod.hungMs]).toEqual([[], undefined]);
  });

  it("case A16: gives up a pod that has sent nothing for 10 s; it leaves the reports immediately", () => {
    const pod = connect();
    pod.request({ node: NODE });
    pod.accept();
    pass(pod, 20);
    vi.advanceTimersByTime(9999);
    expect([pod.hungMs, pods.list().length]).toEqual([undefined, 1]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect([pod.hungMs, pods.list().length]).toEqual([10_000, 0]);
  });

  it("keeps a pod that answers, and neither ACKs nor sends anything for its answers", () => {
    const pod = connect();
    pod.request({ node: NODE });
    pass(pod, 3600);
    expect([pod.hungMs, pod.responses.length, pod.counts.acknowledgements]).toEqual([undefined, 1, 0]);
  });

  it("announces a large response, and gives the pod more time until it has answered that", () => {
    const publisher = new FakePublisher(ONE);
    const pod = connect(publisher);
    pod.request({ node: NODE });
    pod.accept();
    publisher.publish(largeSnapshot(1, LARGE_BYTES));
    expect(pod.heartbeats.at(-1)?.versionInfo).toBe("30000");
    expect(Number(pod.heartbeats.at(-1)?.nonce)).toBeLessThan(Number(pod.last.nonce));
    vi.advanceTimersByTime(29_999);
    expect(pod.hungMs).toBeUndefined();
    pod.accept();
    vi.advanceTimersByTime(5001);
    expect(pod.heartbeats.at(-1)?.versionInfo).toBe("10000");
    vi.advanceTimersByTime(4999 + IMMEDIATE_MS);
    expect(pod.hungMs).toBe(10_000);
  });

  it("keeps the longer time when a small response follows a large one that the pod has not answered", () => {
    const publisher = new FakePublisher(ONE);
    const pod = connect(publisher);
    pod.request({ node: NODE });
    pod.accept();
    publisher.publish(largeSnapshot(1, LARGE_BYTES));
    publisher.publish(snapshotOf({ name: "b", domain: "beta" }));
    vi.advanceTimersByTime(29_999);
    expect([pod.responses.length, pod.hungMs]).toEqual([3, undefined]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect(pod.hungMs).toBe(30_000);
  });

  it("does not begin again when a response that was due before the pod ended its side is sent", () => {
    const semaphore = new SendSemaphore({ sends: 1, permitMaxMs: 1000 });
    const publisher = new FakePublisher(ONE);
    const [slow, pod] = [{}, { node: NODE }].map(({ node }) => {
      const stream = new FakeAdsStream(publisher, { pods, semaphore, snapshotMaxBytes: 10 * LARGE_BYTES });
      stream.request(node === undefined ? {} : { node });
      stream.accept();
      return stream;
    }) as [FakeAdsStream, FakeAdsStream];
    slow.stopReading();
    publisher.publish(largeSnapshot(1, LARGE_BYTES));
    pod.finish();
    const before = pod.heartbeats.length;
    vi.advanceTimersByTime(60_000);
    expect([pod.responses.length, pod.ends, pod.heartbeats.length, pod.hungMs]).toEqual([2, 1, before, undefined]);
  });

  it("gives up a pod that hangs during a large response when the longer time is over", () => {
    const publisher = new FakePublisher(ONE);
    const pod = connect(publisher);
    pod.request({ node: NODE });
    pod.accept();
    pod.stopReading();
    publisher.publish(largeSnapshot(1, LARGE_BYTES));
    vi.advanceTimersByTime(60_000);
    expect([pod.hungMs, pods.list()]).toEqual([30_000, []]);
  });

  it("ends with the stream, and when the pod ends its side", () => {
    const [ended, finished] = [connect(), connect()];
    for (const pod of [ended, finished]) pod.request({ node: NODE });
    ended.close();
    finished.finish();
    vi.advanceTimersByTime(60_000);
    expect([ended, finished].map(({ heartbeats, hungMs }) => [heartbeats.length, hungMs])).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
  });
});
