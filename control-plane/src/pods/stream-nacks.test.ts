// Tests of stream-rejections.ts, by itself and through the streams of pods: what a pod rejected
// does not come to it a second time without need, and whoever looks is told the truth about it.
// Case numbers are those of the protocol's test list.
import { describe, expect, it } from "vitest";

import type { ManifestText } from "../assemble/manifests.suite.ts";
import type { PodState } from "./pod-registry.ts";
import { syncStatusOf } from "./sync-status.ts";
import {
  type Content,
  contentsOf,
  ACCEPTS_ALL,
  NackPolicyFixture,
  rejecting,
  type Policy,
  type PolicyPod,
} from "./nack-policy.suite.ts";
import { StreamNacks } from "./stream-nacks.ts";

const A: ManifestText = { name: "a", domain: "alpha", requestsPerUnit: 1 };
const A2: ManifestText = { ...A, requestsPerUnit: 2 };
const A3: ManifestText = { ...A, requestsPerUnit: 3 };
const B: ManifestText = { name: "b", domain: "beta", requestsPerUnit: 1 };
const B2: ManifestText = { ...B, requestsPerUnit: 2 };

/** Pods that reject everything, with a name and without. */
const HOSTILE: Policy = { rejects: () => true, answers: "named" };
const UNNAMED: Policy = { rejects: () => true, answers: "unnamed" };

/**
 * A fixture in which a sound pod has accepted `a=1` and `b=1`, and the other has answered; the edit
 * to `a=2` has been rejected by the other, and not been answered by the sound one.
 */
function worldAfterRejection(policy: Policy): {
  readonly fixture: NackPolicyFixture;
  readonly sound: PolicyPod;
  readonly other: PolicyPod;
} {
  const fixture = new NackPolicyFixture();
  fixture.want(A, B);
  const [sound, other] = [fixture.connect(), fixture.connect(policy, "other")];
  fixture.settle();
  fixture.nowMs = 2_000_000;
  fixture.want(A2, B);
  other.answer();
  if (other.isAsked) other.answer();
  fixture.nowMs = 3_000_000;
  return { fixture, sound, other };
}

/** How the pod is reported. */
function stateOf(fixture: NackPolicyFixture, nodeId = "other"): PodState {
  const state = fixture.registry.list().find((pod) => pod.nodeId === nodeId);
  if (state === undefined) throw new Error(`There is no pod ${nodeId}`);
  return state;
}

/** How the pod stands to the active snapshot. */
function standing(fixture: NackPolicyFixture): string {
  return syncStatusOf(stateOf(fixture), fixture.snapshotFor("any")?.version);
}

/** First content of each response after the first one. */
function edits(pod: PolicyPod): readonly (Content | undefined)[] {
  return pod.everSent.slice(1).map(([first]) => first);
}

describe("What a pod rejected on a stream", () => {
  it("case A1: is not sent to it again when others accept it after the form before was put back for a moment", () => {
    const { fixture, sound, other } = worldAfterRejection(rejecting("default/a=2"));
    expect([edits(other), standing(fixture)]).toEqual([["default/a=2", "default/a=1"], "current"]);
    sound.answer();
    expect(fixture.snapshotFor("any")?.version).toBe(fixture.wantedVersion);
    expect(edits(other)).toEqual(["default/a=2", "default/a=1"]);
    expect(other.stream.counters).toMatchObject({ pushes: 3, acknowledgements: 2, rejections: 1 });
  });

  it("case A9: is reported as rejected, with the pod's words and their time, next to what it has loaded", () => {
    const { fixture, sound } = worldAfterRejection(rejecting("default/a=2"));
    const before = fixture.snapshotFor("any")?.version;
    sound.answer();
    const { sent, accepted, rejected } = stateOf(fixture);
    expect([standing(fixture), sent?.version, accepted?.version]).toEqual(["rejected", before, before]);
    expect(rejected).toEqual({ version: fixture.wantedVersion, atMs: 2_000_000, message: "default/a: cannot load it" });
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([
      { resource: "default/a", serves: "present", nackingPods: 1 },
    ]);
  });

  it.each([
    ["by name", HOSTILE],
    ["in other words", UNNAMED],
  ])(
    "case A10: is not sent to a pod that rejects everything %s, neither the edit again nor what was put back",
    (_words, policy) => {
      const { fixture, sound, other } = worldAfterRejection(policy);
      expect([edits(other), standing(fixture)]).toEqual([["default/a=2"], "rejected"]);
      sound.answer();
      expect([edits(other), standing(fixture)]).toEqual([["default/a=2"], "rejected"]);
      expect(stateOf(fixture).rejected).toMatchObject({ version: fixture.wantedVersion, atMs: 2_000_000 });
      fixture.want(A3, B);
      fixture.settle();
      expect([edits(other), standing(fixture)]).toEqual([["default/a=2", "default/a=3"], "rejected"]);
    },
  );

  it("is sent to it again when somebody edits the resource back to it", () => {
    const { fixture, other } = worldAfterRejection(rejecting("default/a=2"));
    fixture.settle();
    fixture.want(A3, B);
    fixture.settle();
    fixture.want(A2, B);
    expect(other.sent).toEqual(["default/a=2", "default/b=1"]);
    fixture.settle();
    expect(standing(fixture)).toBe("rejected");
  });

  it("is sent to it again when it was edited back, also when others have accepted it before it is this pod's turn", () => {
    const { fixture, sound, other } = worldAfterRejection(rejecting("default/a=2"));
    fixture.settle();
    other.stream.stopReading();
    fixture.want(A3, B);
    sound.answer();
    fixture.want(A2, B);
    sound.answer();
    other.stream.read();
    expect(edits(other).slice(2)).toEqual(["default/a=3", "default/a=2"]);
  });

  it("is sent to it again while nobody accepts it, so that what is left is found", () => {
    const fixture = new NackPolicyFixture();
    const pod = fixture.connect(rejecting("default/a=2", "default/a=3", "default/b=2"));
    fixture.want(A, B);
    fixture.settle();
    fixture.want(A2, B2);
    fixture.settle();
    fixture.want(A, B);
    fixture.settle();
    // The form of a that was accepted with the edited b was rejected as a whole before, and nobody
    // had it.
    fixture.want(A3, B2);
    fixture.settle();
    expect([pod.loaded, contentsOf(fixture.snapshotFor("any"))]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("is sent to it again when it asks for it", () => {
    const { sound, other } = worldAfterRejection(rejecting("default/a=2"));
    sound.answer();
    other.stream.accept(["default/b"]);
    other.stream.accept(["*"]);
    expect(edits(other)).toEqual(["default/a=2", "default/a=1", "default/a=2"]);
  });

  it("is sent to it on a new stream, whatever it says to have: the process may be another one", () => {
    const { fixture, sound, other } = worldAfterRejection(rejecting("default/a=2"));
    sound.answer();
    fixture.disconnect(other);
    const back = fixture.connect(ACCEPTS_ALL, "other", "any", other.acceptedVersion);
    fixture.settle();
    expect([back.loaded, standing(fixture)]).toEqual([["default/a=2", "default/b=1"], "current"]);
  });

  it("is not offered to it indefinitely, to hear of what it did not name: it is sent the active snapshot, and told of as rejecting that", () => {
    const fixture = new NackPolicyFixture();
    fixture.want(A, B);
    const [other, picky] = [fixture.connect(HOSTILE, "other"), fixture.connect(rejecting("default/b=1"))];
    other.answer();
    picky.answer();
    picky.answer();
    fixture.settle();
    expect([contentsOf(fixture.snapshotFor("any")), other.sent]).toEqual([["default/a=1"], ["default/a=1"]]);
    expect(standing(fixture)).toBe("rejected");
  });

  it("is reported as rejected when the pod has answered what it was sent meanwhile, and not before", () => {
    const fixture = new NackPolicyFixture();
    fixture.want(A, B);
    const [sound, other] = [fixture.connect(), fixture.connect(rejecting("default/a=2"), "other")];
    fixture.settle();
    fixture.want(A2, B);
    other.answer();
    sound.answer();
    expect([edits(other), standing(fixture)]).toEqual([["default/a=2", "default/a=1"], "pending"]);
    other.answer();
    expect([edits(other), standing(fixture)]).toEqual([["default/a=2", "default/a=1"], "rejected"]);
  });
});

describe("StreamNacks", () => {
  it("remembers the last eight versions, each as it was rejected last, and none that was accepted since", () => {
    const memory = new StreamNacks();
    const rejection = (atMs: number) => ({ message: "no", atMs, epoch: 0 });
    for (let version = 1; version <= 8; version += 1) memory.note(`v${version}`, rejection(version));
    memory.note("v1", rejection(9));
    memory.note("v9", rejection(10));
    memory.forget("v3");
    expect([1, 2, 3, 4, 8, 9].map((version) => memory.find(`v${version}`)?.atMs)).toEqual([
      9,
      undefined,
      undefined,
      4,
      8,
      10,
    ]);
  });
});
