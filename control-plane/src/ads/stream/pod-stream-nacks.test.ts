// Tests of pod-stream.ts, sotw.ts and pod-revisions.ts together: what a pod is sent after it NACKed. Case
// numbers are those of the protocol's test list.
import type { DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { fromBinary } from "@bufbuild/protobuf";
import { createLog } from "@weir/common/log/log";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { ManifestText } from "../../translate/manifests.suite.ts";
import { PodRegistry } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { snapshotOf } from "../../snapshot/snapshots-of.suite.ts";
import { FakeAdsStream, FakePublisher } from "./fake-ads-stream.suite.ts";

/** Resources `default/a` to `default/d`, each with a limit; 0: it is not there. */
function limits(a: number, b = 0, c = 0): Snapshot {
  const manifests = Object.entries({ a, b, c }).map(([name, requestsPerUnit]) => ({
    name,
    domain: `domain-${name}`,
    requestsPerUnit,
  }));
  return snapshotOf(...manifests.filter(({ requestsPerUnit }) => requestsPerUnit > 0));
}

/** The limit of each resource in a response, as `name=limit`. */
function rulesOf(response: DiscoveryResponse): string {
  const configs = response.resources.map(({ value }) => fromBinary(RateLimitConfigSchema, value));
  return configs
    .map(({ name, descriptors }) => `${name.split("/")[1]}=${descriptors[0]?.rateLimit?.requestsPerUnit}`)
    .join(" ");
}

/** The limits in each response. */
function rulesSent(pod: FakeAdsStream): readonly string[] {
  return pod.responses.map(rulesOf);
}

/** A pod that has ACKed a snapshot, which is published. */
function podWith(published: Snapshot, pods?: PodRegistry) {
  const publisher = new FakePublisher(published);
  const pod = new FakeAdsStream(publisher, pods === undefined ? {} : { pods });
  pod.request();
  pod.accept();
  return { publisher, pod };
}

describe("PodStream and a pod that alternates ACKs and NACKs", () => {
  afterEach(() => void vi.useRealTimers());

  const LINE = { pod: "192.0.2.1:4711", fleet: "default", version: limits(1, 1).version };
  const ACK = { ...LINE, level: "info", "@message": "Pod ACKed snapshot" };
  const NACK = { ...LINE, level: "error", "@message": "Pod NACKed snapshot", text: "no" };

  it("logs one line of each kind per second, and the first answers to what is published", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const lines: unknown[] = [];
    const write = (line: string): void => {
      const { "@timestamp": _time, ...fields } = JSON.parse(line) as Record<string, unknown>;
      if (String(fields["@message"]).includes("Ked")) lines.push(fields);
    };
    const log = createLog({ level: "info", format: "json", write });
    const publisher = new FakePublisher(limits(1, 1));
    const pod = new FakeAdsStream(publisher, { log });
    const [few, more] = [["default/a"], ["default/a", "default/b"]];
    const alternate = (): void => {
      for (let count = 0; count < 10; count += 1) {
        // The name that was missing makes another response due.
        pod.request({ names: more, nonce: pod.responses.at(-1)?.nonce ?? "" });
        if (count % 2 === 0) pod.accept(few);
        else pod.reject("no", "", few);
      }
    };
    alternate();
    expect([pod.responses.length, lines]).toEqual([10, [ACK, NACK]]);
    vi.advanceTimersByTime(1000);
    alternate();
    expect(lines.slice(2)).toEqual([
      { ...ACK, repeats: 4 },
      { ...NACK, repeats: 4 },
    ]);
    for (const published of [limits(2, 1), limits(1, 1)]) {
      publisher.publish(published);
      pod.accept(few);
    }
    expect(lines.slice(4)).toEqual([{ ...ACK, version: limits(2, 1).version }, ACK]);
  });
});

describe("PodStream after a NACK that names a resource", () => {
  it("sends nothing when the pod has what is left, and reports that it lacks the edit", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const { publisher, pod } = podWith(limits(1, 1), pods);
    const edit = limits(2, 1);
    publisher.publish(edit);
    pod.reject("default/a: no", pod.responses[0]?.versionInfo);
    expect(rulesSent(pod)).toEqual(["a=1 b=1", "a=2 b=1"]);
    const [state] = pods.list();
    expect([
      state && syncStatusOf(state, edit.version),
      state?.choice?.version,
      [...(state?.nacks.keys() ?? [])],
    ]).toEqual(["rejected", pod.responses[0]?.versionInfo, ["default/a"]]);
    // What it NACKed last and what it has: neither is sent again.
    publisher.publish(edit);
    publisher.publish(limits(1, 1));
    expect(pod.responses).toHaveLength(2);
    // The edit was taken back: it lacks nothing.
    expect(pods.list().map((now) => syncStatusOf(now, limits(1, 1).version))).toEqual(["current"]);
    publisher.publish(limits(1, 2));
    expect(rulesSent(pod).slice(2)).toEqual(["a=1 b=2"]);
  });

  it("sends everything else when that changed too, under another version than the published one", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(limits(2, 2, 2));
    pod.reject("default/a: no");
    pod.accept();
    expect(rulesSent(pod).slice(1)).toEqual(["a=2 b=2 c=2", "a=1 b=2 c=2"]);
    expect(pod.last.versionInfo).toBe(limits(1, 2, 2).version);
  });

  it("leaves the resource out on a stream that has ACKed nothing when no earlier revision is kept", () => {
    const publisher = new FakePublisher(limits(1, 1));
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.reject("default/a: no");
    pod.accept();
    expect(rulesSent(pod)).toEqual(["a=1 b=1", "b=1"]);
  });

  it("sends the revision that was published before on a stream that has ACKed nothing, and leaves it out when that is NACKed too", () => {
    const publisher = new FakePublisher(limits(1, 1), limits(2, 1));
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.reject("default/a: no");
    pod.reject("default/a: not that either");
    pod.accept();
    expect(rulesSent(pod)).toEqual(["a=2 b=1", "a=1 b=1", "b=1"]);
  });

  it("sends a pod that NACKed the only resource nothing of it, immediately", () => {
    const publisher = new FakePublisher(limits(1));
    const pod = new FakeAdsStream(publisher);
    pod.request();
    pod.reject("default/a: no");
    expect(rulesSent(pod)).toEqual(["a=1", ""]);
  });

  it("leaves out an earlier revision with which the snapshot would be larger than it may be", () => {
    const large = snapshotOf({ name: "a", domain: "domain-a", largeRules: 2 });
    const small = limits(1, 1);
    const publisher = new FakePublisher(large, small);
    const pods = [small.sizeBytes, 1_000_000].map(
      (snapshotMaxBytes) => new FakeAdsStream(publisher, { snapshotMaxBytes }),
    );
    for (const pod of pods) {
      pod.request();
      pod.reject("default/a: no");
    }
    expect(pods.map(rulesSent)).toEqual([
      ["a=1 b=1", "b=1"],
      ["a=1 b=1", "a=5 b=1"],
    ]);
  });

  it("brings each further edit of the resource, and edits of others, to the pod", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(limits(2, 1));
    pod.reject("default/a: no");
    publisher.publish(limits(2, 2));
    pod.accept();
    publisher.publish(limits(3, 2));
    pod.reject("default/a: still not");
    publisher.publish(limits(4, 2));
    pod.accept();
    expect(rulesSent(pod)).toEqual(["a=1 b=1", "a=2 b=1", "a=1 b=2", "a=3 b=2", "a=4 b=2"]);
  });

  it("sends the resource anew when an edit is taken back to the revision that the pod has", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(limits(2, 1));
    pod.reject("default/a: no");
    publisher.publish(limits(1, 1, 1));
    expect(rulesSent(pod).at(-1)).toBe("a=1 b=1 c=1");
    expect(pod.last.versionInfo).toBe(limits(1, 1, 1).version);
  });

  it("does not send a revision of a resource that was deleted and created again with another domain", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(
      snapshotOf({ name: "a", domain: "other" }, { name: "b", domain: "domain-b", requestsPerUnit: 1 }),
    );
    pod.reject("default/a: no");
    expect(rulesSent(pod).at(-1)).toBe("b=1");
  });

  it("drops a resource that is deleted while the pod has an earlier revision of it", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(limits(2, 1));
    pod.reject("default/a: no");
    publisher.publish(limits(0, 1));
    expect(rulesSent(pod).at(-1)).toBe("b=1");
  });

  it("marks nothing on another stream, and nothing on the next one of the same pod", () => {
    const publisher = new FakePublisher(limits(1), limits(2));
    const [first, second] = [new FakeAdsStream(publisher), new FakeAdsStream(publisher)];
    for (const pod of [first, second]) pod.request({ node: { id: "edge/1" } });
    first.reject("default/a: no");
    second.accept();
    first.close();
    const third = new FakeAdsStream(publisher);
    third.request({ node: { id: "edge/1" } });
    expect([first, second, third].map(rulesSent)).toEqual([["a=2", "a=1"], ["a=2"], ["a=2"]]);
  });

  it("gives pods with the same choice the same version, and others theirs", () => {
    const publisher = new FakePublisher(limits(1, 1), limits(2, 2));
    const [first, second, sound] = [1, 2, 3].map(() => new FakeAdsStream(publisher)) as [
      FakeAdsStream,
      FakeAdsStream,
      FakeAdsStream,
    ];
    for (const pod of [first, second, sound]) pod.request();
    for (const pod of [first, second]) pod.reject("default/a: no");
    sound.accept();
    expect(first.last.versionInfo).toBe(limits(1, 2).version);
    expect(second.last.versionInfo).toBe(first.last.versionInfo);
    expect(sound.last.versionInfo).toBe(limits(2, 2).version);
  });
});

describe("PodStream after a NACK that names no sent resource", () => {
  it.each(["out of memory", "default/x: no", "a: no", ""])(
    "case A10: sends nothing until there is another choice, which it sends whole, when the text is %j",
    (text) => {
      const pods = new PodRegistry({ clock: () => 0 });
      const { publisher, pod } = podWith(limits(1, 1), pods);
      const edit = limits(2, 1);
      publisher.publish(edit);
      pod.reject(text, pod.responses[0]?.versionInfo);
      publisher.publish(edit);
      expect(pod.responses).toHaveLength(2);
      const [state] = pods.list();
      expect([state && syncStatusOf(state, edit.version), state?.nacks.size, state?.rejected?.message]).toEqual([
        "rejected",
        0,
        text,
      ]);
      publisher.publish(limits(2, 2));
      expect(rulesSent(pod)).toEqual(["a=1 b=1", "a=2 b=1", "a=2 b=2"]);
    },
  );

  it("offers again what the pod NACKed after it ACKed something else", () => {
    const { publisher, pod } = podWith(limits(1));
    publisher.publish(limits(2));
    pod.reject("out of memory");
    publisher.publish(limits(3));
    pod.accept();
    publisher.publish(limits(2));
    expect(rulesSent(pod)).toEqual(["a=1", "a=2", "a=3", "a=2"]);
  });

  it("sends nothing when the published version is again the one that the pod ACKed last", () => {
    const { publisher, pod } = podWith(limits(1));
    publisher.publish(limits(2));
    pod.reject("out of memory");
    publisher.publish(limits(1));
    expect(pod.responses).toHaveLength(2);
    publisher.publish(limits(3));
    expect(rulesSent(pod).at(-1)).toBe("a=3");
  });

  it("keeps the marks of earlier NACKs", () => {
    const { publisher, pod } = podWith(limits(1, 1));
    publisher.publish(limits(2, 2));
    pod.reject("default/a: no");
    pod.reject("out of memory");
    publisher.publish(limits(2, 3));
    expect(rulesSent(pod).slice(1)).toEqual(["a=2 b=2", "a=1 b=2", "a=1 b=3"]);
  });
});

describe("PodStream of a pod that lists names, after a NACK", () => {
  const NAMES = ["default/a", "default/b"];

  it("sends what is left only when that differs from what the pod has of its names", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const publisher = new FakePublisher(limits(1, 1, 1));
    const pod = new FakeAdsStream(publisher, { pods });
    pod.request({ names: NAMES });
    pod.accept(NAMES);
    publisher.publish(limits(2, 1, 2));
    pod.reject("default/a: no", "", NAMES);
    expect(rulesSent(pod)).toEqual(["a=1 b=1", "a=2 b=1"]);
    publisher.publish(limits(2, 2, 2));
    pod.accept(NAMES);
    expect(rulesSent(pod).slice(2)).toEqual(["a=1 b=2"]);
    // A resource that it does not list changes: it still lacks the edit.
    const next = limits(2, 2, 3);
    publisher.publish(next);
    expect(pod.responses).toHaveLength(3);
    expect(pods.list().map((state) => syncStatusOf(state, next.version))).toEqual(["rejected"]);
    publisher.publish(limits(3, 2, 3));
    pod.accept(NAMES);
    expect(rulesSent(pod).slice(3)).toEqual(["a=3 b=2"]);
    expect(pods.list().map((state) => syncStatusOf(state, limits(3, 2, 3).version))).toEqual(["current"]);
  });

  it("sends a listed resource no more when the pod NACKed its only revision", () => {
    const publisher = new FakePublisher(limits(1, 1));
    const pod = new FakeAdsStream(publisher);
    pod.request({ names: NAMES });
    pod.reject("default/a: no", "", NAMES);
    pod.accept(NAMES);
    expect(rulesSent(pod)).toEqual(["a=1 b=1", "b=1"]);
  });

  it("marks nothing by the name of a resource that the response did not hold", () => {
    const publisher = new FakePublisher(limits(1, 1, 1));
    const pod = new FakeAdsStream(publisher);
    pod.request({ names: ["default/a"] });
    pod.reject("default/c: no", "", ["default/a"]);
    pod.request({ names: ["default/a", "default/c"], nonce: pod.last.nonce });
    expect(rulesSent(pod)).toEqual(["a=1", "a=1 c=1"]);
  });
});

describe("PodStream of a pod that NACKs much of one namespace", () => {
  const ALL: readonly ManifestText[] = Array.from({ length: 10 }, (_, index) => ({
    name: `r${index}`,
    domain: `domain-${index}`,
    requestsPerUnit: 1,
  }));
  const OTHER: ManifestText = { name: "other", namespace: "team", domain: "other", requestsPerUnit: 1 };

  let publisher: FakePublisher;
  let pod: FakeAdsStream;

  /** All resources of the namespace with one limit. */
  function all(requestsPerUnit: number): readonly ManifestText[] {
    return ALL.map((text) => ({ ...text, requestsPerUnit }));
  }

  /** The limits of the last response. */
  function last(): string {
    return rulesOf(pod.last);
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    publisher = new FakePublisher(snapshotOf(...all(1), OTHER));
    pod = new FakeAdsStream(publisher, { clock: Date.now });
    pod.request();
    pod.accept();
    publisher.publish(snapshotOf(...all(2), { ...OTHER, requestsPerUnit: 2 }));
  });

  afterEach(() => {
    pod.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("sends everything else after eight NACKs, and then tries what the pod has not ACKed one by one, a second apart", () => {
    for (let index = 0; index < 8; index += 1) pod.reject(`default/r${index}: no`);
    const kept = "r0=1 r1=1 r2=1 r3=1 r4=1 r5=1 r6=1 r7=1";
    expect([pod.responses.length, last()]).toEqual([10, `${kept} r8=1 r9=1 other=2`]);
    pod.accept();
    vi.advanceTimersByTime(999);
    expect(pod.responses).toHaveLength(10);
    vi.advanceTimersByTime(1);
    expect([pod.responses.length, last()]).toEqual([11, `${kept} r8=2 r9=1 other=2`]);
    pod.accept();
    vi.advanceTimersByTime(999);
    expect(pod.responses).toHaveLength(11);
    vi.advanceTimersByTime(1);
    expect([pod.responses.length, last()]).toEqual([12, `${kept} r8=2 r9=2 other=2`]);
    pod.accept();
    // Nothing of the namespace is left to be tried: the next edit comes immediately.
    publisher.publish(snapshotOf(...all(3), { ...OTHER, requestsPerUnit: 3 }));
    expect(last()).toBe(`${kept.replaceAll("=1", "=3")} r8=3 r9=3 other=3`);
  });

  it("tries the next one a second later when the pod NACKs the one that is tried", () => {
    for (let index = 0; index < 8; index += 1) pod.reject(`default/r${index}: no`);
    pod.accept();
    vi.advanceTimersByTime(1000);
    pod.reject("default/r8: no");
    const kept = "r0=1 r1=1 r2=1 r3=1 r4=1 r5=1 r6=1 r7=1 r8=1";
    vi.advanceTimersByTime(999);
    expect(pod.responses).toHaveLength(11);
    vi.advanceTimersByTime(1);
    expect([pod.responses.length, last()]).toEqual([12, `${kept} r9=2 other=2`]);
  });

  it("sends each edit of another namespace immediately meanwhile, with nothing more of the restricted one", () => {
    for (let index = 0; index < 8; index += 1) pod.reject(`default/r${index}: no`);
    pod.accept();
    publisher.publish(snapshotOf(...all(2), { ...OTHER, requestsPerUnit: 3 }));
    expect(last()).toBe("r0=1 r1=1 r2=1 r3=1 r4=1 r5=1 r6=1 r7=1 r8=1 r9=1 other=3");
  });

  it("restricts nothing when the pod ACKs between eight NACKs", () => {
    for (let index = 0; index < 7; index += 1) pod.reject(`default/r${index}: no`);
    pod.accept();
    publisher.publish(snapshotOf(...all(3), { ...OTHER, requestsPerUnit: 2 }));
    pod.reject("default/r0: no");
    expect(last()).toBe("r0=1 r1=3 r2=3 r3=3 r4=3 r5=3 r6=3 r7=3 r8=3 r9=3 other=2");
  });

  it("leaves out what the pod never ACKed, and brings a good resource among bad ones on a new stream within seconds", () => {
    const fresh = new FakeAdsStream(new FakePublisher(snapshotOf(...all(2), OTHER)), { clock: Date.now });
    fresh.request();
    for (let index = 0; index < 8; index += 1) fresh.reject(`default/r${index}: no`);
    fresh.accept();
    expect(rulesSent(fresh).at(-1)).toBe("other=1");
    for (let second = 0; second < 2; second += 1) {
      vi.advanceTimersByTime(1000);
      fresh.accept();
    }
    expect(rulesSent(fresh).slice(-2)).toEqual(["r8=2 other=1", "r8=2 r9=2 other=1"]);
    fresh.close();
  });

  it("tries only what a pod that lists names has listed", () => {
    const names = ALL.map(({ name }) => `default/${name}`);
    const unlisted: ManifestText = { name: "a-unlisted", domain: "unlisted" };
    const before = new FakePublisher(snapshotOf(...all(1), unlisted));
    const listing = new FakeAdsStream(before, { clock: Date.now });
    listing.request({ names });
    listing.accept(names);
    before.publish(snapshotOf(...all(2), unlisted));
    for (let index = 0; index < 8; index += 1) listing.reject(`default/r${index}: no`, "", names);
    const kept = "r0=1 r1=1 r2=1 r3=1 r4=1 r5=1 r6=1 r7=1";
    expect([listing.responses.length, rulesSent(listing).at(-1)]).toEqual([
      9,
      `${kept.replace("r7=1", "r7=2")} r8=2 r9=2`,
    ]);
    vi.advanceTimersByTime(1000);
    expect([listing.responses.length, rulesSent(listing).at(-1)]).toEqual([10, `${kept} r8=2 r9=1`]);
    listing.accept(names);
    vi.advanceTimersByTime(1000);
    expect([listing.responses.length, rulesSent(listing).at(-1)]).toEqual([11, `${kept} r8=2 r9=2`]);
    listing.close();
  });

  it("tries nothing more on a stream that has ended", () => {
    for (let index = 0; index < 8; index += 1) pod.reject(`default/r${index}: no`);
    pod.accept();
    pod.close();
    vi.advanceTimersByTime(10_000);
    expect(pod.responses).toHaveLength(10);
  });
});
