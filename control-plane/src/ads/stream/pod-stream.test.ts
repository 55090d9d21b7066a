// Tests of pod-stream.ts and sotw.ts together: what a pod says, and what it is sent. Case numbers
// are those of the protocol's test list.
import { createLog } from "@weir/common/log/log";
import { namesOf, requestOf } from "@weir/harness/ads/pod-end";
import { describe, expect, it } from "vitest";

import type { ManifestText } from "../../translate/manifests.suite.ts";
import { PodRegistry } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import { snapshotOf } from "../../snapshot/snapshots-of.suite.ts";
import { FakeAdsStream, FakePublisher } from "./fake-ads-stream.suite.ts";
import { SendSemaphore } from "./send-semaphore.ts";
import { classifyRequest } from "./sotw.ts";

const A: ManifestText = { name: "a", domain: "alpha" };
const B: ManifestText = { name: "b", domain: "beta" };
const C: ManifestText = { name: "c", domain: "gamma" };

const ONE = snapshotOf(A);
const TWO = snapshotOf(A, B);
const THREE = snapshotOf(A, B, C);
const EMPTY = snapshotOf();

/** The responses that the pod was sent, in short: the names in each. */
function sentNames(pod: FakeAdsStream): readonly (readonly string[])[] {
  return pod.responses.map(namesOf);
}

describe("PodStream.receive()", () => {
  it("case 2: answers exactly once when one request finds a snapshot", () => {
    const pod = new FakeAdsStream(new FakePublisher(TWO));
    pod.request();
    expect(sentNames(pod)).toEqual([["default/a", "default/b"]]);
    expect(pod.last.versionInfo).toBe(TWO.version);
  });

  it("case 4: ignores a request with a foreign nonce and takes the one with the right nonce", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    pod.request();
    pod.request({ nonce: "foreign", version: ONE.version, names: ["default/other"] });
    expect(pod.counts.acknowledgements).toBe(0);
    pod.accept();
    expect(pod.counts.acknowledgements).toBe(1);
    expect(pod.responses).toHaveLength(1);
  });

  it("changes nothing at a request with a foreign nonce: what becomes active later is sent as before", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.request({ nonce: "foreign", names: ["default/other"] });
    pod.request({ nonce: "foreign", error: { message: "no" } });
    publisher.publish(TWO);
    expect([sentNames(pod), pod.counts.rejections]).toEqual([[["default/a"], ["default/a", "default/b"]], 0]);
  });

  it("case 5: answers its own type among seven when only the first request says who the client is", () => {
    const publisher = new FakePublisher(ONE);
    publisher.publish(TWO, "gold");
    const pod = new FakeAdsStream(publisher);
    pod.request({ type: "type.googleapis.com/envoy.config.cluster.v3.Cluster", node: { id: "gold/pod-1" } });
    for (const type of ["a", "b", "c", "d", "e"]) pod.request({ type: `type.googleapis.com/${type}` });
    pod.request();
    expect(sentNames(pod)).toEqual([["default/a", "default/b"]]);
  });

  it("keeps to what the first request said of the client when a later one says something else or nothing", () => {
    const publisher = new FakePublisher(ONE);
    publisher.publish(TWO, "gold");
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(publisher, { pods });
    pod.request({ node: { id: "gold/pod-1" } });
    pod.request({ nonce: pod.last.nonce, version: pod.last.versionInfo, node: { id: "iron/pod-2" } });
    publisher.publish(THREE, "gold");
    pod.accept();
    expect(pod.responses.map(({ versionInfo }) => versionInfo)).toEqual([TWO.version, THREE.version]);
    expect(pods.list().map(({ nodeId, fleet }) => [nodeId, fleet])).toEqual([["gold/pod-1", "gold"]]);
  });

  it("serves a probe and counts it as no pod: neither its stream nor its answers are in a report", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const probe = new FakeAdsStream(new FakePublisher(ONE), { pods });
    probe.request({ node: { id: "gold/check", metadata: { probe: "true" } } });
    probe.accept();
    expect([sentNames(probe), pods.list(), probe.counts.acknowledgements]).toEqual([[["default/a"]], [], 0]);
    const pod = new FakeAdsStream(new FakePublisher(ONE), { pods });
    pod.request({ node: { id: "gold/pod-1", metadata: { probe: "false" } } });
    expect(pods.list().map(({ nodeId }) => nodeId)).toEqual(["gold/pod-1"]);
  });

  it("case 6: sends nothing of an old subscription when the pod drops it while a response is under way", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.stopReading();
    pod.request({ names: ["default/a"] });
    publisher.publish(snapshotOf({ ...A, requestsPerUnit: 6 }));
    pod.accept(["default/unknown"]);
    pod.read();
    expect(pod.responses).toHaveLength(1);
  });

  it("case 7: names the violation when the type is missing", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    expect(pod.request({ type: "" })).toBe("type_url is missing: it is required on an aggregated stream");
    expect(pod.responses).toEqual([]);
  });

  it("names the violation when a request lists more names than anybody needs", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    const names = Array.from({ length: 10_001 }, (_, index) => `default/${index}`);
    expect(pod.request({ names })).toBe("resource_names holds 10001 names, at most 10000 are allowed");
    expect(pod.request({ names: names.slice(1) })).toBeUndefined();
  });

  it("takes requests without a type on a stream for the single type, and no other type", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE), { kind: "single-type" });
    expect(pod.request({ type: "" })).toBeUndefined();
    expect(pod.request({ nonce: pod.last.nonce, version: pod.last.versionInfo })).toBeUndefined();
    expect(pod.request({ type: "type.googleapis.com/other" })).toBe(
      "type_url must be type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig or missing on this stream",
    );
    expect([sentNames(pod), pod.counts.acknowledgements]).toEqual([[["default/a"]], 1]);
  });

  it("case 8: leaves no state when the pod asks for several types and goes", () => {
    const publisher = new FakePublisher(ONE);
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(publisher, { pods });
    pod.request({ type: "type.googleapis.com/other" });
    pod.request();
    pod.close();
    publisher.publish(TWO);
    expect([pods.list(), pod.responses.length]).toEqual([[], 1]);
  });

  it("sends nothing to a pod that asked for nothing or for another type only, whatever becomes active", () => {
    const publisher = new FakePublisher(ONE);
    const [silent, other] = [new FakeAdsStream(publisher), new FakeAdsStream(publisher)];
    other.request({ type: "type.googleapis.com/other" });
    publisher.publish(TWO);
    expect([silent.responses, other.responses]).toEqual([[], []]);
  });

  it("knows no pod when a request comes after the end of its stream", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(new FakePublisher(ONE), { pods });
    pod.close();
    pod.request();
    expect([pods.list(), pod.responses]).toEqual([[], []]);
  });

  it("case 9: answers nothing when ten requests alternate between two unknown types", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    for (let count = 0; count < 10; count += 1) pod.request({ type: `type.googleapis.com/unknown-${count % 2}` });
    expect(pod.responses).toEqual([]);
  });

  it("case 10: waits and leaves no state when no snapshot is active and the pod goes", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(new FakePublisher(), { pods });
    pod.request();
    expect(pods.list()).toHaveLength(1);
    pod.close();
    expect([pods.list(), pod.responses]).toEqual([[], []]);
  });

  it("case 19: answers a request for a name that does not exist only when it does", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.request({ names: ["default/b"] });
    expect(pod.responses).toEqual([]);
    publisher.publish(TWO);
    expect(sentNames(pod)).toEqual([["default/b"]]);
  });

  it("case 23: answers when a name joins at the same version, and waits when both are known", () => {
    const pod = new FakeAdsStream(new FakePublisher(TWO));
    pod.request({ names: ["default/a"] });
    pod.accept(["default/a", "default/b"]);
    expect(sentNames(pod)).toEqual([["default/a"], ["default/a", "default/b"]]);
    pod.accept(["default/a", "default/b"]);
    expect(pod.responses).toHaveLength(2);
  });

  it("sends a name again when the pod drops it and takes it up again", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    pod.request({ names: ["default/a"] });
    pod.accept(["default/x"]);
    pod.accept(["default/a"]);
    expect(sentNames(pod)).toEqual([["default/a"], ["default/a"]]);
  });

  it("sends everything when names become a wildcard at the same version, also when that is said again while a response is under way", () => {
    const pod = new FakeAdsStream(new FakePublisher(TWO));
    pod.request({ names: ["default/a"] });
    pod.accept(["*"]);
    expect(sentNames(pod)).toEqual([["default/a"], ["default/a", "default/b"]]);

    const slow = new FakeAdsStream(new FakePublisher(TWO));
    slow.stopReading();
    slow.request({ names: ["default/a"] });
    slow.accept(["*"]);
    slow.accept(["*"]);
    slow.read();
    expect(sentNames(slow)).toEqual([["default/a"], ["default/a", "default/b"]]);
  });

  it("sends what is left when a named resource is deleted, and nothing when another one changes", () => {
    const publisher = new FakePublisher(TWO);
    const pod = new FakeAdsStream(publisher);
    pod.request({ names: ["default/a"] });
    pod.accept(["default/a"]);
    publisher.publish(snapshotOf(A, { ...B, requestsPerUnit: 9 }));
    expect(pod.responses).toHaveLength(1);
    publisher.publish(snapshotOf(B));
    expect(sentNames(pod)).toEqual([["default/a"], []]);
  });

  it("reports that a pod has the active snapshot when nothing that it wants is different there, and what it said of that", () => {
    const publisher = new FakePublisher(TWO);
    const pods = new PodRegistry({ clock: () => 5 });
    const [accepting, rejecting, silent] = [0, 1, 2].map(() => new FakeAdsStream(publisher, { pods })) as [
      FakeAdsStream,
      FakeAdsStream,
      FakeAdsStream,
    ];
    for (const pod of [accepting, rejecting, silent]) pod.request({ names: ["default/a"] });
    accepting.accept(["default/a"]);
    rejecting.request({ names: ["default/a"], nonce: rejecting.last.nonce, error: { message: "no" } });
    const next = snapshotOf(A, { ...B, requestsPerUnit: 9 });
    publisher.publish(next);
    publisher.publish(next);
    expect([accepting, rejecting, silent].map(({ responses }) => responses.length)).toEqual([1, 1, 1]);
    expect(pods.list().map((pod) => syncStatusOf(pod, next.version))).toEqual(["current", "rejected", "pending"]);
    // Its own resource changes: it is sent that, and stands anew.
    const own = snapshotOf({ ...A, requestsPerUnit: 9 }, { ...B, requestsPerUnit: 9 });
    publisher.publish(own);
    expect(pods.list().map((pod) => syncStatusOf(pod, own.version))).toEqual(["pending", "pending", "pending"]);
    expect(accepting.responses).toHaveLength(2);
  });

  it("sends nothing when the pod wants nothing any more", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.request({ names: ["*"] });
    pod.accept(["default/a"]);
    pod.accept([]);
    publisher.publish(TWO);
    expect(pod.responses).toHaveLength(1);
  });

  it("counts an answer once when later requests with the same nonce only change the names", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(new FakePublisher(TWO), { pods });
    pod.request({ names: ["default/a"] });
    pod.request({ names: ["default/a"], nonce: pod.last.nonce, error: { message: "no" } });
    // After a rejection the client may still change its names under the nonce that it rejected:
    // that accepts nothing.
    pod.request({ names: ["default/x"], nonce: pod.last.nonce, version: TWO.version });
    expect([pod.counts.rejections, pod.counts.acknowledgements, pods.list()[0]?.rejected?.message]).toEqual([
      1,
      0,
      "no",
    ]);
  });

  it("counts an acceptance once when the pod repeats it, and after a request that said neither yes nor no", () => {
    const pod = new FakeAdsStream(new FakePublisher(ONE));
    pod.request();
    pod.request({ nonce: pod.last.nonce, version: "older" });
    expect(pod.counts.acknowledgements).toBe(0);
    pod.accept();
    pod.accept();
    expect(pod.counts.acknowledgements).toBe(1);
  });
});

describe("PodStream.published()", () => {
  it("case 18: answers a waiting pod with exact version and resources when a snapshot becomes active", () => {
    const publisher = new FakePublisher();
    const pod = new FakeAdsStream(publisher);
    pod.request();
    expect(pod.responses).toEqual([]);
    publisher.publish(TWO);
    expect([pod.last.versionInfo, sentNames(pod)]).toEqual([TWO.version, [["default/a", "default/b"]]]);
  });

  it("case 21: forgets the pod when its stream ends, and knows nothing of a pod that never came", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(new FakePublisher(ONE), { pods });
    expect(pods.list()).toEqual([]);
    pod.request({ node: { id: "pod-1" } });
    expect(pods.list().map(({ nodeId }) => nodeId)).toEqual(["pod-1"]);
    pod.close();
    pod.close();
    expect(pods.list()).toEqual([]);
  });

  it("case 22: delivers the last content when a pod that did not read reads again", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.stopReading();
    pod.request();
    publisher.publish(TWO);
    publisher.publish(THREE);
    expect(pod.responses).toHaveLength(1);
    pod.read();
    expect(pod.responses.map(({ versionInfo }) => versionInfo)).toEqual([ONE.version, THREE.version]);
  });

  it("case A1: sends nothing after a NACK that names no resource until content changes, and then the new version once", () => {
    const publisher = new FakePublisher(ONE);
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.reject("no");
    publisher.publish(ONE);
    expect(pod.responses).toHaveLength(1);
    publisher.publish(TWO);
    publisher.publish(TWO);
    expect(pod.responses.map(({ versionInfo }) => versionInfo)).toEqual([ONE.version, TWO.version]);
  });

  it("case A2: answers the first request of a stream in full when it brings nonce and version of another, and counts no acceptance", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(new FakePublisher(ONE), { pods });
    pod.request({ version: ONE.version, nonce: "17" });
    expect(sentNames(pod)).toEqual([["default/a"]]);
    expect([pod.counts.acknowledgements, pods.list()[0]?.accepted]).toEqual([0, undefined]);
  });

  it("case A3: answers once when a pod moves between replicas with the same content, and with the same bytes", () => {
    const [first, second] = [
      new FakeAdsStream(new FakePublisher(TWO)),
      new FakeAdsStream(new FakePublisher(snapshotOf(B, A))),
    ];
    first.request();
    first.accept();
    second.request({ version: first.last.versionInfo, nonce: first.last.nonce });
    second.accept();
    expect(second.responses).toHaveLength(1);
    expect(second.last.versionInfo).toBe(first.last.versionInfo);
    expect(second.last.resources).toEqual(first.last.resources);
  });

  it("case A4: sends its own content when a pod comes with another version", () => {
    const pod = new FakeAdsStream(new FakePublisher(TWO));
    pod.request({ version: ONE.version });
    expect([pod.last.versionInfo, sentNames(pod)]).toEqual([TWO.version, [["default/a", "default/b"]]]);
  });

  it("case A5: sends three, two and no resources when one of three changes, one is deleted and then the others", () => {
    const publisher = new FakePublisher(THREE);
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.accept();
    for (const next of [snapshotOf(A, B, { ...C, requestsPerUnit: 6 }), TWO, EMPTY]) {
      publisher.publish(next);
      pod.accept();
    }
    expect(sentNames(pod).map((names) => names.length)).toEqual([3, 3, 2, 0]);
  });

  it("case A6: waits when nothing was read yet and answers once when it was", () => {
    const publisher = new FakePublisher();
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.request();
    expect(pod.responses).toEqual([]);
    publisher.publish(ONE);
    expect(pod.responses).toHaveLength(1);
  });

  it("case A8: keeps one response under way for a slow pod and serves the others immediately", () => {
    const publisher = new FakePublisher(ONE);
    const semaphore = new SendSemaphore();
    const [slow, fast] = [new FakeAdsStream(publisher, { semaphore }), new FakeAdsStream(publisher, { semaphore })];
    slow.stopReading();
    for (const pod of [slow, fast]) pod.request();
    for (let limit = 10; limit < 20; limit += 1) publisher.publish(snapshotOf({ ...A, requestsPerUnit: limit }));
    expect([slow.responses.length, fast.responses.length]).toEqual([1, 11]);
    slow.read();
    expect([slow.responses.length, slow.last.versionInfo]).toEqual([2, fast.last.versionInfo]);
  });

  it("sends a waiting pod the content of the moment when its turn comes, and lets the next one in when it goes meanwhile", () => {
    const publisher = new FakePublisher(ONE);
    const semaphore = new SendSemaphore({ sends: 1 });
    const [first, gone, last] = [
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
    ];
    first.stopReading();
    for (const pod of [first, gone, last]) pod.request();
    publisher.publish(TWO);
    gone.close();
    expect([first, gone, last].map((pod) => pod.responses.length)).toEqual([1, 0, 0]);
    first.read();
    expect([first, gone, last].map((pod) => pod.responses.map(({ versionInfo }) => versionInfo))).toEqual([
      [ONE.version, TWO.version],
      [],
      [TWO.version],
    ]);
  });

  it("sends a pod that has nothing more to say what is due when its turn comes, then ends, and sends nothing that becomes active later", () => {
    const publisher = new FakePublisher(ONE);
    const semaphore = new SendSemaphore({ sends: 1 });
    const [first, once, gone] = [
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
    ];
    first.stopReading();
    for (const pod of [first, once, gone]) pod.request();
    for (const pod of [once, gone]) pod.finish();
    gone.close();
    expect([once.responses.length, once.ends]).toEqual([0, 0]);
    first.read();
    publisher.publish(TWO);
    expect([sentNames(once), once.ends, sentNames(gone), gone.ends]).toEqual([[["default/a"]], 1, [], 0]);
  });

  it("ends immediately, and once, when nothing is due to a pod that has nothing more to say", () => {
    const publisher = new FakePublisher();
    const [waiting, served, slow] = [
      new FakeAdsStream(publisher),
      new FakeAdsStream(publisher),
      new FakeAdsStream(publisher),
    ];
    waiting.request();
    waiting.finish();
    publisher.publish(ONE);
    served.request();
    served.finish();
    slow.stopReading();
    slow.request();
    slow.finish();
    expect([waiting, served, slow].map(({ responses, ends }) => [responses.length, ends])).toEqual([
      [0, 1],
      [1, 1],
      [1, 0],
    ]);
    slow.read();
    expect([slow.responses.length, slow.ends]).toEqual([1, 1]);
  });

  it("serves a pod that wants nothing any more when its turn comes, as soon as there is something again, and lets the next one in", () => {
    const publisher = new FakePublisher(ONE);
    const semaphore = new SendSemaphore({ sends: 1 });
    const [first, changing, last] = [
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
      new FakeAdsStream(publisher, { semaphore }),
    ];
    first.stopReading();
    first.request();
    changing.request({ names: ["default/a"] });
    changing.request({ names: ["default/b"] });
    last.request();
    first.read();
    expect([changing, last].map(sentNames)).toEqual([[], [["default/a"]]]);
    publisher.publish(TWO);
    expect(sentNames(changing)).toEqual([["default/b"]]);
  });

  it("reports and counts what it sends", () => {
    const publisher = new FakePublisher(ONE);
    const pods = new PodRegistry({ clock: () => 7 });
    const pod = new FakeAdsStream(publisher, { pods });
    pod.request();
    expect([pod.counts.pushes, pods.list()[0]?.sent]).toEqual([1, { version: ONE.version, atMs: 7 }]);
    publisher.publish(TWO);
    expect([pod.counts.pushes, pods.list()[0]?.sent?.version]).toEqual([2, TWO.version]);
  });

  it("logs who comes, with the version that it has, what it makes of what it is sent, and once that it leaves", () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const publisher = new FakePublisher(ONE);
    const [fresh, known] = [{ id: "edge/1" }, { id: "edge/2" }].map((node, index) => {
      const pod = new FakeAdsStream(publisher, { log });
      pod.request({ node, version: index === 0 ? "" : "older" });
      return pod;
    });
    fresh?.accept();
    known?.reject("default/a: no");
    for (const pod of [fresh, fresh]) pod?.close();
    const { version } = ONE;
    expect(lines.map(({ "@timestamp": _time, ...line }) => line)).toEqual([
      { level: "info", "@message": "Pod connected", pod: "edge/1", fleet: "edge", peer: "192.0.2.1:4711" },
      {
        level: "info",
        "@message": "Pod connected",
        pod: "edge/2",
        fleet: "edge",
        peer: "192.0.2.1:4711",
        has: "older",
      },
      { level: "info", "@message": "Pod ACKed snapshot", pod: "edge/1", fleet: "edge", version },
      {
        level: "error",
        "@message": "Pod NACKed snapshot",
        pod: "edge/2",
        fleet: "edge",
        version,
        text: "default/a: no",
      },
      { level: "info", "@message": "Pod disconnected", pod: "edge/1", fleet: "edge" },
    ]);
  });

  it("case A11: tells two pods with the same node id apart", () => {
    const publisher = new FakePublisher(ONE);
    const pods = new PodRegistry({ clock: () => 0 });
    const [first, second] = [new FakeAdsStream(publisher, { pods }), new FakeAdsStream(publisher, { pods })];
    for (const pod of [first, second]) pod.request({ node: { id: "default" } });
    first.accept();
    second.reject("default/a: no");
    expect(pods.list().map(({ accepted, rejected }) => [accepted?.version, rejected?.message])).toEqual([
      [ONE.version, undefined],
      [undefined, "default/a: no"],
    ]);
  });

  it("case A12: forgets the pod and sends nothing more when the stream is cut during a write", () => {
    const publisher = new FakePublisher(ONE);
    const pods = new PodRegistry({ clock: () => 0 });
    const pod = new FakeAdsStream(publisher, { pods });
    pod.stopReading();
    pod.request();
    pod.close();
    publisher.publish(TWO);
    pod.read();
    expect([pods.list(), pod.responses.length]).toEqual([[], 1]);
  });

  it("keeps the last ACK when a later version is NACKed, and the NACK until the pod has everything", () => {
    const publisher = new FakePublisher(ONE);
    const pods = new PodRegistry({ clock: () => 5 });
    const pod = new FakeAdsStream(publisher, { pods });
    pod.request();
    pod.accept();
    publisher.publish(TWO);
    pod.reject("default/b: no", ONE.version);
    const rejected = { version: TWO.version, message: "default/b: no", atMs: 5 };
    expect(pods.list()[0]).toMatchObject({ accepted: { version: ONE.version, atMs: 5 }, rejected });
    publisher.publish(THREE);
    pod.accept();
    expect(sentNames(pod).at(-1)).toEqual(["default/a", "default/c"]);
    expect(pods.list()[0]).toMatchObject({ accepted: { version: pod.last.versionInfo }, rejected });
    const repaired = snapshotOf(A, { ...B, requestsPerUnit: 6 }, C);
    publisher.publish(repaired);
    pod.accept();
    expect(pods.list()[0]).toMatchObject({ accepted: { version: repaired.version }, rejected: undefined });
  });

  it("sends the snapshot of the pod's fleet when it has one", () => {
    const publisher = new FakePublisher(ONE);
    publisher.publish(THREE, "gold");
    const [gold, other] = [new FakeAdsStream(publisher), new FakeAdsStream(publisher)];
    gold.request({ node: { id: "x", metadata: { fleet: "gold" } } });
    other.request({ node: { id: "silver/1" } });
    expect([gold.last.versionInfo, other.last.versionInfo]).toEqual([THREE.version, ONE.version]);
  });
});

describe("classifyRequest()", () => {
  const sent = { nonce: "2", snapshot: ONE, names: undefined, isAnswered: false };
  const { version } = ONE;

  it.each([
    { when: "nothing was sent", before: undefined, request: { nonce: "9", version: "v1" }, kind: "subscribe" },
    {
      when: "nothing was sent, though it carries an error",
      before: undefined,
      request: { error: { message: "x" } },
      kind: "subscribe",
    },
    { when: "the nonce is older", before: sent, request: { nonce: "1", version }, kind: "stale" },
    { when: "the nonce is missing", before: sent, request: { version }, kind: "stale" },
    { when: "nonce and version are those sent", before: sent, request: { nonce: "2", version }, kind: "ack" },
    {
      when: "there is an error with code 0",
      before: sent,
      request: { nonce: "2", version: "v1", error: { message: "x" } },
      kind: "nack",
    },
    {
      when: "there is an error with the version sent",
      before: sent,
      request: { nonce: "2", version, error: { message: "" } },
      kind: "nack",
    },
    { when: "the version is another one", before: sent, request: { nonce: "2", version: "v1" }, kind: "update" },
    {
      when: "it was answered before",
      before: { ...sent, isAnswered: true },
      request: { nonce: "2", version },
      kind: "update",
    },
  ])("says $kind when $when", ({ before, request, kind }) => {
    expect(classifyRequest(before, requestOf(request)).kind).toBe(kind);
  });

  it("says what the words of a pod mean that does not know a limit", () => {
    const message = "default/shop: invalid rate limit unit '100'";
    expect(classifyRequest(sent, requestOf({ nonce: "2", error: { message } }))).toMatchObject({
      message: `${message} (the pod needs a newer image: its own knows no multiples of units, algorithms, time zones and lists of limits)`,
    });
    const other = "default/shop: invalid rate limit unit '10'";
    expect(classifyRequest(sent, requestOf({ nonce: "2", error: { message: other } }))).toMatchObject({
      message: other,
    });
  });

  it("cuts a rejection text that would fill the log and the report", () => {
    const meaning = classifyRequest(sent, requestOf({ nonce: "2", error: { message: "x".repeat(200_000) } }));
    expect(meaning).toEqual({ kind: "nack", sent, message: `${"x".repeat(4096)}…` });
  });
});
