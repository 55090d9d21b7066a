// Tests of pod-stream.ts, both variants and pod-revisions.ts together: what a pod is sent after it NACKed. Case
// numbers are those of docs/discovery.md.
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
import { AnsweringPod, type AnsweringPodOptions, type VariantKind } from "./answering-pod.suite.ts";
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

const VARIANTS = [{ kind: "aggregated" }, { kind: "delta" }] as const;

/** A pod, and what publishes a snapshot for it. */
function podWith(kind: VariantKind, published: Snapshot, options: Omit<AnsweringPodOptions, "kind"> = {}) {
  const publisher = new FakePublisher(published);
  return { publisher, pod: new AnsweringPod(publisher, { kind, ...options }) };
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

describe.each(VARIANTS)("PodStream ($kind) after a NACK that names a resource", ({ kind }) => {
  it("sends nothing when the pod has what is left, and reports that it lacks the edit", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2"];
    const edit = limits(2, 1);
    publisher.publish(edit);
    expect(pod.sent).toEqual(["a=1 b=1", kind === "delta" ? "a=2" : "a=2 b=1"]);
    const { state } = pod;
    expect([syncStatusOf(state, edit.version), state.choice?.version, [...state.nacks.keys()]]).toEqual([
      "rejected",
      limits(1, 1).version,
      ["default/a"],
    ]);
    // Neither what it NACKed last nor what it has is sent again.
    publisher.publish(edit);
    publisher.publish(limits(1, 1));
    expect(pod.sent).toHaveLength(2);
    // The edit was taken back: it lacks nothing.
    expect(syncStatusOf(pod.state, limits(1, 1).version)).toBe("current");
    publisher.publish(limits(1, 2));
    expect(pod.rules).toBe("a=1 b=2");
  });

  it("sends it again when it was taken back meanwhile, and reports the NACK again", () => {
    const { publisher, pod } = podWith(kind, limits(1));
    pod.refuses = ["a=2"];
    for (const published of [limits(2), limits(1), limits(2)]) publisher.publish(published);
    expect(pod.sent).toEqual(["a=1", "a=2", "a=2"]);
    expect(syncStatusOf(pod.state, limits(2).version)).toBe("rejected");
  });

  it("sends everything else when that changed too, under another version than the published one", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2"];
    publisher.publish(limits(2, 2, 2));
    expect(pod.sent.slice(1)).toEqual(
      kind === "delta" ? ["a=2 b=2 c=2", "b=2", "c=2"] : ["a=2 b=2 c=2", "a=1 b=2 c=2"],
    );
    expect([pod.rules, pod.state.accepted?.version]).toEqual(["a=1 b=2 c=2", limits(1, 2, 2).version]);
  });

  it("leaves the resource out on a stream that has ACKed nothing when no earlier revision is kept", () => {
    const { pod } = podWith(kind, limits(1, 1), { refuses: ["a=1"] });
    expect([pod.rules, pod.state.accepted?.version]).toEqual(["b=1", limits(0, 1).version]);
  });

  it("sends the revision that was published before on a stream that has ACKed nothing, and leaves it out when that is NACKed too", () => {
    const publisher = new FakePublisher(limits(1, 1), limits(2, 1));
    const pods = [["a=2"], ["a=2", "a=1"]].map((refuses) => new AnsweringPod(publisher, { kind, refuses }));
    expect(pods.map(({ rules }) => rules)).toEqual(["a=1 b=1", "b=1"]);
  });

  it("sends a pod that NACKed the only resource nothing of it, immediately, and reports that it has nothing", () => {
    const { pod } = podWith(kind, limits(1), { refuses: ["a=1"] });
    expect([pod.sent, pod.state.accepted?.version]).toEqual([["a=1", ""], limits(0).version]);
  });

  it("leaves out an earlier revision with which the snapshot would be larger than it may be", () => {
    const large = snapshotOf({ name: "a", domain: "domain-a", largeRules: 2 });
    const small = limits(1, 1);
    const publisher = new FakePublisher(large, small);
    const pods = [small.sizeBytes, 1_000_000].map(
      (snapshotMaxBytes) => new AnsweringPod(publisher, { kind, snapshotMaxBytes, refuses: ["a=1"] }),
    );
    expect(pods.map(({ rules }) => rules)).toEqual(["b=1", "a=5 b=1"]);
  });

  it("brings each further edit of the resource, and edits of others, to the pod", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2", "a=3"];
    const edits = [limits(2, 1), limits(2, 2), limits(3, 2), limits(4, 2)];
    const rules = edits.map((edit) => {
      publisher.publish(edit);
      return pod.rules;
    });
    expect(rules).toEqual(["a=1 b=1", "a=1 b=2", "a=1 b=2", "a=4 b=2"]);
    expect(pod.sent).toEqual(
      kind === "delta"
        ? ["a=1 b=1", "a=2", "b=2", "a=3", "a=4"]
        : ["a=1 b=1", "a=2 b=1", "a=1 b=2", "a=3 b=2", "a=4 b=2"],
    );
  });

  it("has the resource as it is published when an edit is taken back to the revision that the pod has", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2"];
    publisher.publish(limits(2, 1));
    publisher.publish(limits(1, 1, 1));
    expect([pod.rules, pod.state.accepted?.version]).toEqual(["a=1 b=1 c=1", limits(1, 1, 1).version]);
  });

  it("does not leave a revision of a resource that was deleted and created again with another domain", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=5"];
    publisher.publish(
      snapshotOf({ name: "a", domain: "other" }, { name: "b", domain: "domain-b", requestsPerUnit: 1 }),
    );
    expect(pod.rules).toBe("b=1");
  });

  it("drops a resource that is deleted while the pod has an earlier revision of it", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2"];
    publisher.publish(limits(2, 1));
    publisher.publish(limits(0, 1));
    expect(pod.rules).toBe("b=1");
  });

  it("marks nothing on another stream, and nothing on the next one of the same pod", () => {
    const publisher = new FakePublisher(limits(1), limits(2));
    const first = new AnsweringPod(publisher, { kind, refuses: ["a=2"] });
    const second = new AnsweringPod(publisher, { kind });
    first.close();
    const third = new AnsweringPod(publisher, { kind });
    expect([first, second, third].map(({ sent }) => sent)).toEqual([["a=2", "a=1"], ["a=2"], ["a=2"]]);
  });

  it("gives pods with the same choice the same version, and others theirs", () => {
    const publisher = new FakePublisher(limits(1, 1), limits(2, 2));
    const pods = [["a=2"], ["a=2"], []].map((refuses) => new AnsweringPod(publisher, { kind, refuses }));
    expect(pods.map(({ state }) => state.accepted?.version)).toEqual([
      limits(1, 2).version,
      limits(1, 2).version,
      limits(2, 2).version,
    ]);
  });
});

describe.each(VARIANTS)("PodStream ($kind) after a NACK that names no sent resource", ({ kind }) => {
  it.each(["out of memory", "default/x: no", "a: no", ""])(
    "case A10: reports it, repeats what was sent in one response at most one by one, and nothing until there is another choice, when the text is %j",
    (text) => {
      const { publisher, pod } = podWith(kind, limits(1, 1));
      pod.refuses = ["a=2"];
      pod.nackText = () => text;
      const edit = limits(2, 2);
      publisher.publish(edit);
      // One by one it is known which one the pod cannot load.
      const sent = kind === "delta" ? ["a=1 b=1", "a=2 b=2", "a=2", "b=2"] : ["a=1 b=1", "a=2 b=2"];
      publisher.publish(edit);
      expect(pod.sent).toEqual(sent);
      const { state } = pod;
      expect([syncStatusOf(state, edit.version), [...state.nacks.keys()], state.rejected?.message]).toEqual([
        "rejected",
        kind === "delta" ? ["default/a"] : [],
        text,
      ]);
      publisher.publish(limits(2, 3));
      expect(pod.sent.slice(sent.length)).toEqual([kind === "delta" ? "b=3" : "a=2 b=3"]);
    },
  );

  it("offers again what the pod NACKed after it ACKed something else", () => {
    const { publisher, pod } = podWith(kind, limits(1));
    pod.nackText = () => "out of memory";
    pod.refuses = ["a=2"];
    for (const edit of [limits(2), limits(3), limits(2)]) publisher.publish(edit);
    expect(pod.sent).toEqual(["a=1", "a=2", "a=3", "a=2"]);
  });

  it("sends nothing when the published version is again the one that the pod ACKed last", () => {
    const { publisher, pod } = podWith(kind, limits(1));
    pod.nackText = () => "out of memory";
    pod.refuses = ["a=2"];
    for (const edit of [limits(2), limits(1)]) publisher.publish(edit);
    expect(pod.sent).toHaveLength(2);
    publisher.publish(limits(3));
    expect(pod.rules).toBe("a=3");
  });

  it("keeps the marks of earlier NACKs", () => {
    const { publisher, pod } = podWith(kind, limits(1, 1));
    pod.refuses = ["a=2", "b=2"];
    pod.nackText = (name) => (name === "default/a" ? "default/a: no" : "out of memory");
    publisher.publish(limits(2, 2));
    publisher.publish(limits(2, 3));
    expect(pod.rules).toBe("a=1 b=3");
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

/** Resources of one namespace, and one of another. */
const ALL: readonly ManifestText[] = Array.from({ length: 10 }, (_, index) => ({
  name: `r${index}`,
  domain: `domain-${index}`,
  requestsPerUnit: 1,
}));
const OTHER: ManifestText = { name: "other", namespace: "team", domain: "other", requestsPerUnit: 1 };

/** All resources of the namespace with one limit. */
function all(requestsPerUnit: number): readonly ManifestText[] {
  return ALL.map((text) => ({ ...text, requestsPerUnit }));
}

/** The first of them with one limit, as the pod has them. */
function first(count: number, requestsPerUnit: number): string {
  return ALL.slice(0, count)
    .map(({ name }) => `${name}=${requestsPerUnit}`)
    .join(" ");
}

describe("PodStream of a pod that lists names and NACKs much of one namespace", () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));

  afterEach(() => void vi.useRealTimers());

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
});

describe.each(VARIANTS)("PodStream ($kind) of a pod that NACKs much of one namespace", ({ kind }) => {
  const EIGHT = first(8, 2).split(" ");

  let publisher: FakePublisher;
  let pod: AnsweringPod;

  function publish(requestsPerUnit: number, other: number): void {
    publisher.publish(snapshotOf(...all(requestsPerUnit), { ...OTHER, requestsPerUnit: other }));
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    publisher = new FakePublisher(snapshotOf(...all(1), OTHER));
    pod = new AnsweringPod(publisher, { kind, clock: Date.now });
    pod.refuses = EIGHT;
  });

  afterEach(() => {
    pod.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("sends everything else after eight NACKs, and then tries what the pod has not ACKed one by one, a second apart", () => {
    publish(2, 2);
    const kept = first(8, 1);
    expect([pod.sent.length, pod.rules]).toEqual([10, `${kept} r8=1 r9=1 other=2`]);
    vi.advanceTimersByTime(999);
    expect(pod.sent).toHaveLength(10);
    vi.advanceTimersByTime(1);
    expect([pod.sent.length, pod.rules]).toEqual([11, `${kept} r8=2 r9=1 other=2`]);
    vi.advanceTimersByTime(999);
    expect(pod.sent).toHaveLength(11);
    vi.advanceTimersByTime(1);
    expect([pod.sent.length, pod.rules]).toEqual([12, `${kept} r8=2 r9=2 other=2`]);
    // Nothing of the namespace is left to be tried: the next edit comes immediately.
    publish(3, 3);
    expect(pod.rules).toBe(`${first(10, 3)} other=3`);
  });

  it("tries the next one a second later when the pod NACKs the one that is tried", () => {
    pod.refuses = [...EIGHT, "r8=2"];
    publish(2, 2);
    vi.advanceTimersByTime(1000);
    expect([pod.sent.length, pod.rules]).toEqual([11, `${first(10, 1)} other=2`]);
    vi.advanceTimersByTime(999);
    expect(pod.sent).toHaveLength(11);
    vi.advanceTimersByTime(1);
    expect([pod.sent.length, pod.rules]).toEqual([12, `${first(9, 1)} r9=2 other=2`]);
  });

  it("sends each edit of another namespace immediately meanwhile, with nothing more of the restricted one", () => {
    publish(2, 2);
    publish(2, 3);
    expect(pod.rules).toBe(`${first(10, 1)} other=3`);
  });

  it("restricts nothing when the pod ACKs between eight NACKs", () => {
    pod.refuses = [...EIGHT.slice(0, 7), "r0=3"];
    publish(2, 2);
    expect(pod.rules).toBe(`${first(7, 1)} r7=2 r8=2 r9=2 other=2`);
    publish(3, 2);
    expect(pod.rules).toBe(`r0=1 ${first(10, 3).slice("r0=3 ".length)} other=2`);
  });

  it("leaves out what the pod never ACKed, and brings a good resource among bad ones on a new stream within seconds", () => {
    const fresh = new AnsweringPod(new FakePublisher(snapshotOf(...all(2), OTHER)), {
      kind,
      clock: Date.now,
      refuses: EIGHT,
    });
    const rules = [0, 1000, 1000].map((waitMs) => {
      vi.advanceTimersByTime(waitMs);
      return fresh.rules;
    });
    expect(rules).toEqual(["other=1", "r8=2 other=1", "r8=2 r9=2 other=1"]);
    fresh.close();
  });

  it("tries nothing more on a stream that has ended", () => {
    publish(2, 2);
    pod.close();
    vi.advanceTimersByTime(10_000);
    expect(pod.sent).toHaveLength(10);
  });
});
