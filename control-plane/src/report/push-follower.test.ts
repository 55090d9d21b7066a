// Tests of push-follower.ts: when a push begins and ends, what its span says, and what is logged.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { manifest, type ManifestText } from "../translate/manifests.suite.ts";
import type { ResourceNack, SentRevisions } from "../pods/pod-revisions.ts";
import { PodRegistry, type PodReport } from "../pods/pod-registry.ts";
import type { PublisherState } from "../snapshot/publisher.ts";
import { snapshotOf } from "../snapshot/snapshots-of.suite.ts";
import { PushFollower, type PushFollowerDeps, type Span } from "./push-follower.ts";
import { AT_MS, publisherOf, snapshotIn } from "./rollout/rollout-facts.suite.ts";

const NO_NACKS: ReadonlyMap<string, ResourceNack> = new Map();

/** A response of another control plane. */
const OTHER: SentRevisions = { snapshot: snapshotOf({ name: "other", domain: "other" }), names: undefined };

/** A span that remembers what it was told. */
interface RecordedSpan {
  readonly name: string;
  readonly startMs: number;
  readonly attributes: Record<string, unknown>;
  readonly events: unknown[];
  failure: string | undefined;
  endMs: number | undefined;
}

describe("PushFollower", () => {
  let spans: RecordedSpan[];
  let lines: Record<string, unknown>[];
  let pods: PodRegistry;
  let state: PublisherState;
  let publish: (...manifests: readonly ManifestText[]) => void;
  let follower: PushFollower;

  function connect(nodeId: string, fleet = "gateway"): PodReport {
    return pods.connected({ nodeId, fleet, namespace: "", pod: "", peer: "192.0.2.1:4711" });
  }

  /** Version for fleets that no resource names. */
  function version(): string {
    return snapshotIn(state).version;
  }

  /** The response with the whole snapshot for fleets that no resource names, or for one fleet. */
  function whole(fleet?: string): SentRevisions {
    return { snapshot: snapshotIn(state, fleet), names: undefined };
  }

  function recordSpan(
    name: string,
    options: { readonly startTime: number; readonly attributes: Record<string, unknown> },
  ): Span {
    const { startTime: startMs, attributes } = options;
    const recorded: RecordedSpan = {
      name,
      startMs,
      attributes: { ...attributes },
      events: [],
      failure: undefined,
      endMs: undefined,
    };
    spans.push(recorded);
    const span = {
      recorded,
      setAttributes: (more: Record<string, unknown>) => Object.assign(recorded.attributes, more),
      addEvent: (event: string, more: unknown) => recorded.events.push([event, more]),
      end: (endMs: number) => (recorded.endMs = endMs),
    };
    return span as unknown as Span;
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: AT_MS });
    spans = [];
    lines = [];
    pods = new PodRegistry({ clock: Date.now });
    state = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
    const listeners = new Set<() => void>();
    publish = (...manifests) => {
      const changedMs = AT_MS - 100;
      state = publisherOf(Object.fromEntries(manifests.map((text) => [`${text.name}.yaml`, manifest(text)])), {
        before: state,
      });
      state = { ...state, changedMs: new Map([...state.publication.keys()].map((fleet) => [fleet, changedMs])) };
      for (const listener of listeners) listener();
    };
    const deps: PushFollowerDeps = {
      log: createLog({
        level: "info",
        format: "json",
        write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
      }),
      clock: Date.now,
      publisher: {
        state: () => state,
        onPublished: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      pods,
      tracer: { startSpan: recordSpan } as unknown as NonNullable<PushFollowerDeps["tracer"]>,
      markFailed: (span, message) => {
        (span as unknown as { recorded: RecordedSpan }).recorded.failure = message;
      },
    };
    follower = new PushFollower(deps);
    follower.start();
  });

  afterEach(() => {
    follower.stop();
    vi.useRealTimers();
  });

  it("has a span from the change to the last acceptance, with the resources that changed, and says that it is over", () => {
    const [first, second] = [connect("first"), connect("second")];
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 }, { name: "b", domain: "beta" });
    const reports = [first, second];
    for (const report of reports) report.sent(version());
    vi.advanceTimersByTime(20);
    first.accepted(whole());
    expect(spans[1]?.endMs).toBeUndefined();
    vi.advanceTimersByTime(30);
    second.accepted(whole());
    expect(spans[1]).toMatchObject({
      name: "push",
      startMs: AT_MS - 100,
      endMs: AT_MS + 50,
      failure: undefined,
      attributes: {
        "weir.fleet": "*",
        "weir.version": version(),
        "weir.resources": 2,
        "weir.resources.changed": ["default/a", "default/b"],
        "weir.resources.changed.count": 2,
        "weir.pods": 2,
        "weir.pods.accepted": 2,
        "weir.pods.rejected": 0,
        "weir.outcome": "accepted",
      },
    });
    expect(lines).toMatchObject([
      {
        level: "info",
        "@message": "Every connected pod has ACKed the snapshot",
        fleet: "*",
        version: version(),
        pods: 2,
        tookMs: 150,
      },
    ]);
  });

  it("counts the ACK of a pod that should have the snapshot only after the push has begun", () => {
    const pod = connect("first");
    publish({ name: "b", domain: "beta" });
    pod.chosen(whole().snapshot, NO_NACKS);
    pod.sent(version());
    pod.accepted(whole());
    expect(spans[1]?.attributes).toMatchObject({ "weir.outcome": "accepted", "weir.pods.accepted": 1 });
  });

  it("says nothing more of a push that is over", () => {
    const pod = connect("first");
    publish({ name: "b", domain: "beta" });
    pod.accepted(whole());
    vi.advanceTimersByTime(120_000);
    expect([lines.length, spans[1]?.attributes["weir.outcome"], spans[1]?.endMs]).toEqual([1, "accepted", AT_MS]);
  });

  it("names twenty resources and twenty pods at most, and reports how many there are", () => {
    for (let count = 0; count < 25; count += 1) connect(`pod-${count}`);
    publish(...Array.from({ length: 25 }, (_, index) => ({ name: `n${index}`, domain: `d${index}` })));
    expect([
      spans[1]?.attributes["weir.resources.changed"],
      spans[1]?.attributes["weir.resources.changed.count"],
    ]).toMatchObject([
      { length: 20 },
      26, // The one that is gone counts, too.
    ]);
    vi.advanceTimersByTime(60_000);
    expect(lines).toMatchObject([
      { "@message": "Pods have not answered the snapshot", waiting: 25, names: { length: 20 } },
    ]);
  });

  it("names resources that are gone", () => {
    publish({ name: "b", domain: "beta" });
    expect(spans[1]?.attributes["weir.resources.changed"]).toEqual(["default/b", "default/a"]);
  });

  it("ends immediately when no pod is connected, and says nothing", () => {
    expect(spans).toMatchObject([{ endMs: AT_MS, attributes: { "weir.outcome": "no pods", "weir.pods": 0 } }]);
    expect(lines).toEqual([]);
  });

  it("fails the span and warns when a pod has rejected", () => {
    const [first, second] = [connect("first"), connect("second")];
    publish({ name: "b", domain: "beta" });
    first.accepted(whole());
    second.rejected(version(), "default/b: no", NO_NACKS);
    expect(spans[1]).toMatchObject({
      failure: "pods: rejected",
      events: [["rejected", { "weir.node": "second", "weir.rejection": "default/b: no" }]],
      attributes: { "weir.outcome": "rejected", "weir.pods.accepted": 1, "weir.pods.rejected": 1 },
    });
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Every connected pod has answered, and not all ACKed the snapshot",
        accepted: 1,
        rejected: 1,
      },
    ]);
  });

  it("waits neither for pods that leave nor for pods that come later, nor for answers about something else", () => {
    const [first, second] = [connect("first"), connect("second")];
    const old = whole();
    publish({ name: "b", domain: "beta" });
    connect("late");
    first.accepted(old);
    second.left();
    expect(spans[1]?.endMs).toBeUndefined();
    first.accepted(whole());
    expect(spans[1]?.attributes).toMatchObject({
      "weir.outcome": "accepted",
      "weir.pods.accepted": 1,
      "weir.pods.waiting": 0,
    });
  });

  it("does not take it for accepted, and says nothing, when every pod has left", () => {
    const pods = [connect("first"), connect("second")];
    publish({ name: "b", domain: "beta" });
    for (const pod of pods) pod.left();
    expect([spans[1]?.attributes["weir.outcome"], lines]).toEqual(["no pods", []]);
  });

  it("reports after a minute who has not answered", () => {
    connect("first").accepted(OTHER);
    const second = connect("second");
    publish({ name: "b", domain: "beta" });
    second.accepted(whole());
    vi.advanceTimersByTime(59_999);
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Pods have not answered the snapshot",
        accepted: 1,
        waiting: 1,
        names: ["first"],
      },
    ]);
    expect(spans[1]).toMatchObject({
      failure: "pods: unanswered",
      attributes: { "weir.outcome": "unanswered", "weir.pods.waiting": 1 },
    });
  });

  it("ends a push that a later one supersedes, and every push when it stops", () => {
    const pod = connect("first");
    publish({ name: "b", domain: "beta" });
    publish({ name: "c", domain: "gamma" });
    expect(spans.map(({ attributes }) => attributes["weir.outcome"])).toEqual(["no pods", "superseded", undefined]);
    follower.stop();
    expect(spans[2]?.attributes["weir.outcome"]).toBe("stopped");
    pod.accepted(whole());
    publish({ name: "d", domain: "delta" });
    expect([lines, spans.length]).toEqual([[], 3]);
  });

  it("ends the push of a fleet that no resource names any more, and follows the fleet anew when one does", () => {
    connect("gold", "gold");
    const [alpha, gold] = [
      { name: "a", domain: "alpha" },
      { name: "g", domain: "gold", fleets: ["gold"] },
    ];
    publish(alpha, gold);
    publish(alpha);
    publish(alpha, gold);
    expect(spans.slice(1).map(({ attributes }) => [attributes["weir.fleet"], attributes["weir.outcome"]])).toEqual([
      ["gold", "superseded"],
      ["gold", undefined],
    ]);
  });

  it("does not wait for a pod of a fleet that is named for the first time when that is sent what it has", () => {
    connect("gold", "gold").accepted(whole());
    publish({ name: "a", domain: "alpha", fleets: ["gold"] });
    const ofGold = spans.find(({ attributes }) => attributes["weir.fleet"] === "gold");
    expect(ofGold?.attributes).toMatchObject({ "weir.pods": 0, "weir.outcome": "no pods" });
  });

  it("waits for a pod that accepted the content once and was sent something else since", () => {
    const pod = connect("a");
    const first = whole();
    pod.accepted(first);
    publish({ name: "a", domain: "alpha", requestsPerUnit: 9 });
    pod.sent(version());
    publish({ name: "a", domain: "alpha" });
    expect(version()).toBe(first.snapshot.version);
    expect(spans.at(-1)?.attributes).toMatchObject({ "weir.pods": 1 });
    pod.sent(version());
    pod.accepted(first);
    expect(spans.at(-1)?.attributes["weir.outcome"]).toBe("accepted");
  });

  it("does not wait for a pod that rejected the content when it was sent last: it is not sent that again", () => {
    const pod = connect("a");
    publish({ name: "b", domain: "beta" });
    pod.sent(version());
    pod.rejected(version(), "no", NO_NACKS);
    // The same content is active for its fleet, which is named for the first time.
    publish({ name: "b", domain: "beta", fleets: ["gateway"] });
    expect(spans.at(-1)?.attributes).toMatchObject({
      "weir.fleet": "gateway",
      "weir.pods": 0,
      "weir.outcome": "no pods",
    });
  });

  it("counts a pod that ACKs everything but what it NACKed before among those that rejected", () => {
    const [sound, other] = [connect("a"), connect("b")];
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 });
    const nacks = new Map([["default/a", { digests: new Set<string>(), sinceMs: AT_MS, message: "default/a: no" }]]);
    other.rejected(version(), "default/a: no", nacks);
    sound.accepted(whole());
    // Another resource changes: the pod is sent that, without the edit that it NACKed.
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 }, { name: "b", domain: "beta" });
    const choice = whole().snapshot.withEarlier(new Map([["default/a", undefined]]));
    sound.sent(version());
    sound.accepted(whole());
    expect(spans.at(-1)?.endMs).toBeUndefined();
    other.chosen(choice, nacks);
    expect(spans.at(-1)).toMatchObject({
      attributes: { "weir.outcome": "rejected", "weir.pods.accepted": 1, "weir.pods.rejected": 1 },
      events: [["rejected", { "weir.node": "b", "weir.rejection": "default/a: no" }]],
    });
  });

  it("waits for pods that NACKed earlier content, and takes them for accepted when they ACK the repair", () => {
    const [named, unnamed, leaving] = [connect("a"), connect("b"), connect("c")];
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 });
    const before = whole().snapshot;
    const nacks = new Map([["default/a", { digests: new Set<string>(), sinceMs: AT_MS, message: "default/a: no" }]]);
    for (const pod of [named, leaving]) {
      pod.rejected(version(), "default/a: no", nacks);
      pod.chosen(before.withEarlier(new Map([["default/a", undefined]])), nacks);
    }
    unnamed.rejected(version(), "no", NO_NACKS);
    publish({ name: "a", domain: "alpha", requestsPerUnit: 7 });
    expect(spans.at(-1)?.attributes).toMatchObject({ "weir.pods": 3 });
    named.chosen(whole().snapshot, nacks);
    leaving.left();
    for (const pod of [named, unnamed]) pod.sent(version());
    named.accepted(whole());
    expect(spans.at(-1)?.endMs).toBeUndefined();
    unnamed.accepted(whole());
    expect(spans.at(-1)?.attributes).toMatchObject({
      "weir.outcome": "accepted",
      "weir.pods.accepted": 2,
      "weir.pods.rejected": 0,
    });
  });

  it("takes a pod for current without another answer when what it NACKed is taken back", () => {
    const pod = connect("a");
    const before = whole();
    pod.accepted(before);
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 });
    pod.sent(version());
    pod.rejected(version(), "no", NO_NACKS);
    publish({ name: "a", domain: "alpha" });
    pod.chosen(before.snapshot, NO_NACKS);
    expect(spans.at(-1)?.attributes).toMatchObject({ "weir.pods.accepted": 1, "weir.outcome": "accepted" });
  });

  it("does not wait for a pod that is sent nothing, because it has all but what it NACKed", () => {
    const [sound, other] = [connect("a"), connect("b")];
    const before = whole();
    other.accepted(before);
    publish({ name: "a", domain: "alpha", requestsPerUnit: 6 });
    sound.accepted(whole());
    other.sent(version());
    other.rejected(version(), "default/a: no", NO_NACKS);
    other.chosen(whole().snapshot.withEarlier(new Map([["default/a", before.snapshot.revisions[0]]])), NO_NACKS);
    expect(spans.at(-1)?.attributes).toMatchObject({
      "weir.outcome": "rejected",
      "weir.pods.accepted": 1,
      "weir.pods.rejected": 1,
    });
    expect(lines.at(-1)).toMatchObject({ level: "warning", accepted: 1, rejected: 1 });
  });

  it("does not wait for pods that the push brings nothing, and counts what they said of what they have", () => {
    const [accepting, rejecting] = [connect("a"), connect("b")];
    for (const pod of [accepting, rejecting]) pod.sent(version());
    accepting.accepted(whole());
    rejecting.rejected(version(), "no", NO_NACKS);
    publish({ name: "b", domain: "beta" });
    expect(spans.at(-1)?.attributes).toMatchObject({ "weir.pods": 2 });
    for (const pod of [accepting, rejecting]) pod.unaffected(version());
    expect(spans.at(-1)?.attributes).toMatchObject({
      "weir.outcome": "rejected",
      "weir.pods.accepted": 1,
      "weir.pods.rejected": 1,
    });
  });

  it("waits no longer in the push of all others for a pod whose fleet is named for the first time", () => {
    const [gold, other] = [connect("gold", "gold"), connect("other", "other")];
    publish({ name: "b", domain: "beta" });
    const push = spans.at(-1);
    expect(push?.attributes).toMatchObject({ "weir.fleet": "*", "weir.pods": 2 });
    other.accepted(whole());
    publish({ name: "b", domain: "beta" }, { name: "g", domain: "gold", fleets: ["gold"] });
    expect(push?.attributes).toMatchObject({
      "weir.outcome": "accepted",
      "weir.pods.accepted": 1,
      "weir.pods.waiting": 0,
    });
    vi.advanceTimersByTime(60_000);
    expect(lines.filter(({ level }) => level === "warning")).toMatchObject([{ fleet: "gold", names: ["gold"] }]);
    gold.left();
  });

  it("follows each fleet by itself, and does not wait for pods that have the content already", () => {
    const [gold, other] = [connect("gold", "gold"), connect("other")];
    gold.accepted(whole());
    // The fleet is named for the first time, with what it has already and one resource more.
    publish({ name: "a", domain: "alpha" }, { name: "b", domain: "beta", fleets: ["gold"] });
    expect(
      spans
        .slice(1)
        .map(({ attributes }) => [
          attributes["weir.fleet"],
          attributes["weir.pods"],
          attributes["weir.resources.changed"],
        ]),
    ).toEqual([["gold", 1, ["default/b"]]]);
    gold.accepted(whole("gold"));
    expect(spans[1]?.attributes["weir.outcome"]).toBe("accepted");
    other.left();
  });
});
