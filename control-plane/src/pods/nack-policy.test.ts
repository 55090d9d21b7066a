// Tests of quarantine.ts and quarantine-fleet.ts, through the streams of pods. Case numbers are
// those of the protocol's test list.
import { describe, expect, it } from "vitest";

import { FakeAdsStream } from "../ads/stream/fake-ads-stream.suite.ts";
import type { ManifestText } from "../assemble/manifests.suite.ts";
import { contentsOf, ACCEPTS_ALL, NackPolicyFixture, rejecting, type Policy } from "./nack-policy.suite.ts";

const A: ManifestText = { name: "a", domain: "alpha", requestsPerUnit: 1 };
const A2: ManifestText = { ...A, requestsPerUnit: 2 };
const B: ManifestText = { name: "b", domain: "beta", requestsPerUnit: 1 };
const C: ManifestText = { name: "c", domain: "gamma", requestsPerUnit: 1 };

/** A pod that rejects everything and names the first resource. */
const HOSTILE: Policy = { rejects: () => true, answers: "named" };

function unnamed(...contents: readonly string[]): Policy {
  return { ...rejecting(...contents), answers: "unnamed" };
}

/** A fixture that wants these resources. */
function fixtureOf(...manifests: readonly ManifestText[]): NackPolicyFixture {
  const fixture = new NackPolicyFixture();
  fixture.want(...manifests);
  return fixture;
}

/** What is active for pods of no particular fleet. */
function inForce(fixture: NackPolicyFixture, fleet = "any"): readonly string[] {
  return contentsOf(fixture.snapshotFor(fleet));
}

describe("Quarantine of a resource", () => {
  it("case A9: leaves out what a pod rejects by name under a new version, tells why, and lifts it at the edit", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    expect([inForce(fixture), pod.loaded]).toEqual([["default/b=1"], ["default/b=1"]]);
    expect(fixture.snapshotFor("any")?.version).not.toBe(fixture.wantedVersion);
    expect(fixture.nackPolicy.nacks()).toEqual({
      resources: [
        {
          fleet: "",
          resource: "default/a",
          sinceMs: 1_000_000,
          message: "default/a: cannot load it",
          serves: "nothing",
          nackingPods: 1,
        },
      ],
      versions: [],
    });
    fixture.want(A2, B);
    fixture.settle();
    expect([inForce(fixture), pod.loaded]).toEqual([
      ["default/a=2", "default/b=1"],
      ["default/a=2", "default/b=1"],
    ]);
    expect(fixture.nackPolicy.nacks()).toEqual({ resources: [], versions: [] });
    expect(fixture.snapshotFor("any")?.version).toBe(fixture.wantedVersion);
  });

  it("serves the form that was accepted last when an edit is rejected", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=2"));
    fixture.settle();
    fixture.want(A2, { ...B, requestsPerUnit: 2 });
    fixture.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=2"]);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([{ resource: "default/a", serves: "last-good" }]);
  });

  it("keeps it through edits of other resources, and asks the pod no more", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    for (let limit = 2; limit <= 5; limit += 1) {
      fixture.want(A, { ...B, requestsPerUnit: limit });
      fixture.settle();
    }
    expect(pod.loaded).toEqual(["default/b=5"]);
    // The first offer, what is left of it, and four edits.
    expect(pod.stream.responses).toHaveLength(6);
  });

  it("converges immediately when several resources are bad, each rejection naming one", () => {
    const fixture = fixtureOf(A, B, C);
    const pod = fixture.connect(rejecting("default/a=1", "default/c=1"));
    expect(fixture.settle()).toBe(3);
    expect(pod.loaded).toEqual(["default/b=1"]);
  });

  it("forgets the rejection when the resource is deleted, and asks again when it comes back", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    fixture.want(B);
    expect(fixture.nackPolicy.nacks().resources).toEqual([]);
    fixture.want(A, B);
    expect(pod.isAsked).toBe(true);
    fixture.settle();
    expect(inForce(fixture)).toEqual(["default/b=1"]);
  });

  it("does not serve the last good form of a resource that was deleted meanwhile, whatever stood next to it", () => {
    const fixture = fixtureOf(A, B, C);
    fixture.connect(rejecting("default/a=2", "default/b=2", "default/c=2"));
    fixture.settle();
    fixture.want(B, { ...C, name: "d", domain: "delta" });
    fixture.settle();
    fixture.want(A2, { ...B, requestsPerUnit: 2 }, { ...C, requestsPerUnit: 2 });
    fixture.settle();
    expect(inForce(fixture)).toEqual(["default/b=1"]);
  });

  it("does not serve a last good form whose domain has another owner now", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(rejecting("default/a=2"));
    fixture.settle();
    // a moves to another domain and is rejected there; meanwhile c takes the domain that it left.
    fixture.want({ ...A2, domain: "moved" }, B, { ...C, domain: "alpha" });
    fixture.settle();
    expect(inForce(fixture)).toEqual(["default/b=1", "default/c=1"]);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([{ resource: "default/a", serves: "nothing" }]);
  });

  it("serves the last good form of a domain's owner, and never that of who has left the domain, when both are rejected", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(rejecting("default/a=2", "default/c=2"));
    fixture.settle();
    const moved = { ...A2, domain: "moved" };
    const taken = { ...C, domain: "alpha" };
    fixture.want(moved, B, taken);
    fixture.settle();
    fixture.want(moved, B, { ...taken, requestsPerUnit: 2 });
    fixture.settle();
    expect(inForce(fixture)).toEqual(["default/b=1", "default/c=1"]);
    expect(fixture.nackPolicy.nacks().resources.map(({ resource, serves }) => [resource, serves])).toEqual([
      ["default/a", "nothing"],
      ["default/c", "last-good"],
    ]);
  });

  it("serves one of two last good forms whose domain nobody wants any more", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=2", "default/c=2"));
    fixture.settle();
    const moved = { ...A2, domain: "moved" };
    fixture.want(moved, B, { ...C, domain: "alpha" });
    fixture.settle();
    fixture.want(moved, B, { ...C, domain: "moved-too", requestsPerUnit: 2 });
    fixture.settle();
    expect([inForce(fixture), pod.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("cuts the text of a rejection", () => {
    const fixture = fixtureOf(A);
    const pod = fixture.connect();
    pod.stream.reject(`default/a: ${"x".repeat(100_000)}`);
    expect(fixture.nackPolicy.nacks().resources[0]?.message).toBe(`default/a: ${"x".repeat(4085)}…`);
  });

  it("takes a name only at the beginning of the text, before a colon, and only of a resource that the pod was sent", () => {
    for (const text of ["cannot load default/a: no", "default/a no", "default/ab: no", "default/c: no", ": no", ""]) {
      const fixture = fixtureOf(A, B);
      fixture.connect().stream.reject(text);
      expect([text, fixture.nackPolicy.nacks().resources, inForce(fixture)]).toEqual([
        text,
        [],
        ["default/a=1", "default/b=1"],
      ]);
    }
  });

  it("stops at two hundred resources: a pod that rejects more is not asked through them all", () => {
    const manifests = Array.from({ length: 230 }, (_, index) => ({
      name: `n${String(index).padStart(3, "0")}`,
      domain: `d${index}`,
    }));
    const fixture = fixtureOf(...manifests);
    fixture.connect(HOSTILE);
    expect(fixture.settle(300)).toBe(201);
    expect(inForce(fixture)).toHaveLength(30);
  });
});

describe("Quarantine among several pods", () => {
  it("only reports a rejection when another pod accepted the content", () => {
    const fixture = fixtureOf(A, B);
    const [easy, hostile] = [fixture.connect(), fixture.connect(HOSTILE)];
    fixture.settle();
    expect([inForce(fixture), easy.loaded, hostile.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
      [],
    ]);
    expect(hostile.stream.responses).toHaveLength(1);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([
      { resource: "default/a", serves: "present", nackingPods: 1 },
    ]);
  });

  it("takes nothing from fifty sound pods when a hostile one answers first", () => {
    const fixture = fixtureOf(A, B, C);
    const hostile = fixture.connect(HOSTILE);
    const sound = Array.from({ length: 50 }, () => fixture.connect());
    while (hostile.isAsked) hostile.answer();
    fixture.settle();
    expect(new Set(sound.map((pod) => pod.stream.responses.length))).toEqual(new Set([1]));
    expect(sound.map((pod) => pod.loaded)).toEqual(
      Array.from({ length: 50 }, () => ["default/a=1", "default/b=1", "default/c=1"]),
    );
    expect([inForce(fixture).length, fixture.snapshotFor("any")?.version]).toEqual([3, fixture.wantedVersion]);
  });

  it("takes nothing from a sound pod that connects when a hostile one has rejected everything", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(HOSTILE);
    fixture.settle();
    expect(inForce(fixture)).toEqual([]);
    const sound = fixture.connect();
    fixture.settle();
    expect([sound.stream.responses.length, sound.loaded]).toEqual([1, ["default/a=1", "default/b=1"]]);
    expect(inForce(fixture)).toEqual(["default/a=1", "default/b=1"]);
  });

  it("asks a pod that rejects one resource about the others that only a hostile pod rejected", () => {
    const fixture = fixtureOf(A, B, C);
    fixture.connect(HOSTILE);
    fixture.settle();
    const pod = fixture.connect(rejecting("default/b=1"));
    fixture.settle();
    expect([pod.loaded, inForce(fixture)]).toEqual([
      ["default/a=1", "default/c=1"],
      ["default/a=1", "default/c=1"],
    ]);
  });

  it("continues with the rest for a pod that rejects without a name what it was asked about", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    const wordless = fixture.connect(unnamed("default/a=1"));
    fixture.settle();
    expect([wordless.stream.responses.length, wordless.loaded]).toEqual([2, ["default/b=1"]]);
  });

  it("takes nothing from a sound pod that has loaded what is wanted since before something else was wanted for a moment, and never active", () => {
    const fixture = new NackPolicyFixture(600);
    fixture.want(A, B);
    const sound = fixture.connect();
    fixture.settle();
    fixture.want(...["c", "d", "e", "f", "g", "h"].map((name) => ({ name, domain: name })));
    expect(fixture.inForce()?.hold?.kind).toBe("too-large");
    fixture.want(A, B);
    fixture.connect(HOSTILE, "hostile");
    fixture.settle();
    expect([inForce(fixture), sound.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([
      { resource: "default/a", serves: "present", nackingPods: 1 },
    ]);
  });

  it("lifts the quarantine when a pod accepts the content", () => {
    const fixture = fixtureOf(A, B);
    const old = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    const upgraded = fixture.connect();
    fixture.settle();
    expect(upgraded.loaded).toEqual(["default/a=1", "default/b=1"]);
    expect(inForce(fixture)).toEqual(["default/a=1", "default/b=1"]);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([{ serves: "present" }]);
    // The old pod is sent what it rejects already, keeps what it has, and is left in peace.
    expect([old.loaded, old.isAsked]).toEqual([["default/b=1"], false]);
  });

  it("serves everything else to all when every pod rejects a resource, without asking a pod twice", () => {
    const fixture = fixtureOf(A, B);
    const pods = Array.from({ length: 20 }, () => fixture.connect(rejecting("default/a=1")));
    expect(fixture.settle()).toBe(40);
    expect(new Set(pods.map((pod) => pod.loaded.join()))).toEqual(new Set(["default/b=1"]));
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([{ nackingPods: 20 }]);
    expect(fixture.publications).toBe(2);
  });

  it("asks no further pods when a hundred have rejected a content and none has accepted it", () => {
    const fixture = fixtureOf(A, B);
    for (let count = 0; count < 100; count += 1) fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    const late = fixture.connect(rejecting("default/a=1"));
    expect(late.sent).toEqual(["default/b=1"]);
  });

  it("asks the pods that are left, and those that come, when fewer than a hundred of those that rejected are still connected", () => {
    const fixture = fixtureOf(A, B);
    const old = Array.from({ length: 120 }, () => fixture.connect(rejecting("default/a=1")));
    fixture.settle();
    const upgraded = Array.from({ length: 3 }, () => fixture.connect());
    fixture.settle();
    expect(upgraded.map(({ loaded }) => loaded)).toEqual([["default/b=1"], ["default/b=1"], ["default/b=1"]]);
    for (const pod of old) fixture.disconnect(pod);
    fixture.settle();
    expect(upgraded.map(({ loaded }) => loaded)).toEqual(upgraded.map(() => ["default/a=1", "default/b=1"]));
    expect([inForce(fixture), fixture.nackPolicy.nacks().resources]).toEqual([["default/a=1", "default/b=1"], []]);
  });

  it("asks a pod again when it comes back as a new process, under the name that the one before it had", () => {
    const fixture = fixtureOf(A, B);
    const old = fixture.connect(rejecting("default/a=1"), "vm-1");
    fixture.settle();
    fixture.disconnect(old);
    const upgraded = fixture.connect(ACCEPTS_ALL, "vm-1");
    fixture.settle();
    expect([upgraded.loaded, inForce(fixture)]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("reports of pods that reject what others accept as long as they are connected, and not when they accept it themselves", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect();
    const [first, second] = [fixture.connect(rejecting("default/a=1")), fixture.connect(rejecting("default/a=1"))];
    fixture.settle();
    const rejecters = (): readonly number[] =>
      fixture.nackPolicy.nacks().resources.map(({ nackingPods }) => nackingPods);
    expect(rejecters()).toEqual([2]);
    fixture.disconnect(first);
    expect(rejecters()).toEqual([1]);
    fixture.disconnect(second);
    expect(rejecters()).toEqual([]);
    // It comes back with what it had: it is the same process, and its rejection stands until it
    // accepts.
    const back = fixture.connect(ACCEPTS_ALL, "pod-2", "any", "an earlier version");
    expect(rejecters()).toEqual([1]);
    back.answer();
    expect(rejecters()).toEqual([]);
  });

  it("keeps a resource quarantined, rejected by nobody who is connected, until a pod accepts it", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    fixture.disconnect(pod);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([
      { resource: "default/a", serves: "nothing", nackingPods: 0 },
    ]);
    expect(inForce(fixture)).toEqual(["default/b=1"]);
  });

  it("does not flap when pods come back: they are sent the active snapshot, and nothing else becomes active", () => {
    const fixture = fixtureOf(A, B);
    const policy = rejecting("default/a=1");
    const pods = [fixture.connect(policy, "x"), fixture.connect(policy, "y")];
    fixture.settle();
    const before = fixture.publications;
    for (const pod of pods) fixture.disconnect(pod);
    for (const nodeId of ["y", "x"])
      expect(fixture.connect(policy, nodeId, "any", "an earlier version").sent).toEqual(["default/b=1"]);
    fixture.settle();
    expect([fixture.publications - before, inForce(fixture)]).toEqual([0, ["default/b=1"]]);
  });

  it("is heard when a pod that rejects something leaves, and not when another one does", () => {
    const fixture = fixtureOf(A, B);
    const [rejects, accepts] = [fixture.connect(rejecting("default/a=1")), fixture.connect()];
    fixture.settle();
    let told = 0;
    const end = fixture.nackPolicy.onChanged(() => (told += 1));
    fixture.disconnect(accepts);
    expect(told).toBe(0);
    fixture.disconnect(rejects);
    expect(told).toBe(1);
    end();
    fixture.connect(rejecting("default/b=1")).answer();
    expect(told).toBe(1);
  });

  it("case A11: tells apart what two streams with the same node id say", () => {
    const fixture = fixtureOf(A, B);
    const [first, second] = [
      fixture.connect(rejecting("default/a=1"), "default"),
      fixture.connect(ACCEPTS_ALL, "default"),
    ];
    first.answer();
    expect(inForce(fixture)).toEqual(["default/b=1"]);
    // The second has not been asked to give up what only the first rejects.
    expect(second.stream.responses).toHaveLength(1);
    second.answer();
    expect(inForce(fixture)).toEqual(["default/a=1", "default/b=1"]);
  });

  it("is not held up by a pod that never answers", () => {
    const fixture = fixtureOf(A, B);
    const silent = fixture.connect({ rejects: () => false, answers: "silent" });
    const pod = fixture.connect(rejecting("default/a=1"));
    fixture.settle();
    expect([pod.loaded, inForce(fixture)]).toEqual([["default/b=1"], ["default/b=1"]]);
    fixture.want(A, { ...B, requestsPerUnit: 2 });
    fixture.settle();
    expect([pod.loaded, silent.stream.responses.length]).toEqual([["default/b=2"], 2]);
  });

  it("takes the acceptance of an older form for a last good form, but not over a newer one", () => {
    const [fixture, policy] = [fixtureOf(A, B), rejecting("default/a=4")];
    const [quick, slow] = [fixture.connect(policy), fixture.connect(policy)];
    fixture.settle();
    // The slow one gets the second form and answers it when the fourth is rejected by the other
    // already.
    slow.stream.stopReading();
    for (const requestsPerUnit of [2, 3, 4]) {
      fixture.want({ ...A, requestsPerUnit }, B);
      quick.answer();
    }
    expect([slow.sent, inForce(fixture)]).toEqual([
      ["default/a=2", "default/b=1"],
      ["default/a=3", "default/b=1"],
    ]);
    slow.answer();
    expect(inForce(fixture)).toEqual(["default/a=3", "default/b=1"]);
  });
});

describe("Quarantine and pods that ask for some resources by name", () => {
  /** The stream of a pod that wants only this resource. */
  function connectFor(fixture: NackPolicyFixture, name: string): FakeAdsStream {
    const stream = new FakeAdsStream(fixture, fixture.registry, fixture.nackPolicy);
    stream.request({ names: [name], node: { id: `only-${name}` } });
    return stream;
  }

  it("takes their acceptance for that of what they were sent, and of nothing else", () => {
    const fixture = fixtureOf(A, B);
    connectFor(fixture, "default/a").accept(["default/a"]);
    fixture.connect(HOSTILE).answer();
    expect(fixture.nackPolicy.nacks().resources.map(({ resource, serves }) => [resource, serves])).toEqual([
      ["default/a", "present"],
    ]);
    fixture.connect(rejecting("default/b=1")).answer();
    expect(inForce(fixture)).toEqual(["default/a=1"]);
  });

  it("is heard when their acceptance says something new of what is rejected, and never again for the same", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(rejecting("default/a=2"));
    fixture.settle();
    fixture.want(A2, B);
    fixture.settle();
    let told = 0;
    fixture.nackPolicy.onChanged(() => (told += 1));
    const pods = ["default/b", "default/a", "default/b", "default/a"].map((name) => ({
      name,
      stream: connectFor(fixture, name),
    }));
    // In the end all have what is wanted, which was offered to those of a.
    const heard = pods.map(({ name, stream }) => {
      stream.accept([name]);
      return told;
    });
    expect([heard, inForce(fixture)]).toEqual([
      [0, 1, 1, 1],
      ["default/a=2", "default/b=1"],
    ]);
  });

  it("is not heard when they accept the last good form of what is rejected once more", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect(rejecting("default/a=2"));
    fixture.settle();
    fixture.want(A2, B);
    fixture.settle();
    const snapshot = fixture.snapshotFor("any");
    if (snapshot === undefined) throw new Error("No snapshot is active");
    let told = 0;
    fixture.nackPolicy.onChanged(() => (told += 1));
    const only = fixture.nackPolicy.joined({ nodeId: "only-default/a", fleet: "any", peer: "192.0.2.2:1" });
    for (let count = 1; count <= 2; count += 1) only.acked({ snapshot, names: new Set(["default/a"]) });
    expect([told, contentsOf(snapshot)]).toEqual([0, ["default/a=1", "default/b=1"]]);
  });

  it("takes their rejection for that of what they were sent, and of nothing else", () => {
    const fixture = fixtureOf(A, B);
    connectFor(fixture, "default/b").reject("default/a: no");
    expect([inForce(fixture), fixture.nackPolicy.nacks().resources]).toEqual([["default/a=1", "default/b=1"], []]);
    connectFor(fixture, "default/a").reject("default/a: no");
    expect(inForce(fixture)).toEqual(["default/b=1"]);
  });
});

describe("Quarantine of a whole version", () => {
  it("case A10: restores what a pod accepted last when a rejection names no resource, until something else is wanted", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(unnamed("default/a=2"));
    fixture.settle();
    const accepted = fixture.snapshotFor("any");
    fixture.want(A2, B);
    const rejectedVersion = fixture.wantedVersion;
    fixture.settle();
    expect(fixture.inForce()).toEqual({
      snapshot: accepted,
      hold: { kind: "rejected", version: rejectedVersion, sinceMs: 1_000_000, message: "out of memory" },
    });
    expect(fixture.nackPolicy.nacks()).toEqual({
      resources: [],
      versions: [
        {
          fleet: "",
          version: rejectedVersion,
          sinceMs: 1_000_000,
          message: "out of memory",
          restored: accepted?.version,
          nackingPods: 1,
        },
      ],
    });
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1"]);
    fixture.want({ ...A, requestsPerUnit: 3 }, B);
    fixture.settle();
    expect([fixture.inForce()?.hold, pod.loaded]).toEqual([undefined, ["default/a=3", "default/b=1"]]);
  });

  it("restores what was accepted last, also when that had been quarantined for a while before it was accepted", () => {
    const fixture = fixtureOf(A);
    const old = fixture.connect(rejecting("default/b=1"));
    fixture.settle();
    fixture.want(A, B);
    fixture.settle();
    expect(old.loaded).toEqual(["default/a=1"]);
    const pod = fixture.connect(unnamed("default/c=1"));
    fixture.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1"]);
    fixture.disconnect(old);
    fixture.want(A, B, C);
    fixture.settle();
    // The team of b loses nothing by the mistake of the team of c.
    expect([inForce(fixture), pod.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("keeps the version when another pod accepts it, whoever answers first", () => {
    for (const order of [
      [unnamed("default/a=2"), ACCEPTS_ALL],
      [ACCEPTS_ALL, unnamed("default/a=2")],
    ]) {
      const fixture = fixtureOf(A, B);
      for (const policy of order) fixture.connect(policy);
      fixture.settle();
      fixture.want(A2, B);
      fixture.settle();
      expect([inForce(fixture), fixture.inForce()?.hold]).toEqual([["default/a=2", "default/b=1"], undefined]);
    }
  });

  it("keeps the version when nothing was ever accepted, and says so", () => {
    const fixture = fixtureOf(A);
    fixture.connect(unnamed("default/a=1"));
    fixture.settle();
    expect(inForce(fixture)).toEqual(["default/a=1"]);
    expect(fixture.nackPolicy.nacks().versions).toMatchObject([{ restored: undefined, nackingPods: 1 }]);
  });

  it("restores nothing that was not accepted by the end: a pod that rejects all in words of its own harms nobody", () => {
    const fixture = fixtureOf(A, B);
    fixture.connect({ rejects: () => true, answers: "unnamed" });
    const sound = fixture.connect();
    for (let limit = 2; limit < 6; limit += 1) {
      fixture.settle();
      fixture.want({ ...A, requestsPerUnit: limit }, B);
    }
    fixture.settle();
    expect([sound.loaded, sound.stream.responses.length]).toEqual([["default/a=5", "default/b=1"], 5]);
  });
});

describe("Quarantine by fleet", () => {
  it("quarantines in the fleet whose pods reject, and nowhere else", () => {
    const fixture = fixtureOf(A, { ...C, fleets: ["gold"] });
    const [gold, other] = [
      fixture.connect(rejecting("default/a=1"), "g", "gold"),
      fixture.connect(ACCEPTS_ALL, "o", "other"),
    ];
    fixture.settle();
    expect([gold.loaded, other.loaded]).toEqual([["default/c=1"], ["default/a=1"]]);
    expect(fixture.nackPolicy.nacks().resources).toMatchObject([
      { fleet: "gold", resource: "default/a", serves: "nothing" },
    ]);
  });

  it("keeps what pods said when their fleet is named for the first time", () => {
    const fixture = fixtureOf(A, B);
    const pod = fixture.connect(rejecting("default/a=2"), "g", "gold");
    fixture.settle();
    fixture.want(A2, B);
    fixture.settle();
    fixture.want(A2, B, { ...C, fleets: ["gold"] });
    fixture.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1", "default/c=1"]);
    expect(fixture.nackPolicy.nacks().resources.map(({ fleet }) => fleet)).toEqual(["", "gold"]);
    fixture.want(A2, B);
    expect(fixture.nackPolicy.nacks().resources.map(({ fleet }) => fleet)).toEqual([""]);
  });

  it("sends the active snapshot to a pod that rejected without a name what others reject by name since their fleet was named", () => {
    const fixture = fixtureOf(B);
    fixture.want(A);
    const other = fixture.connect(unnamed("default/a=1"), "other", "gold");
    const late = fixture.connect(rejecting("default/a=1"), "late", "gold");
    other.answer();
    fixture.want({ ...A, fleets: ["gold"] });
    late.answer();
    fixture.settle();
    expect([inForce(fixture, "gold"), other.sent, late.sent]).toEqual([[], [], []]);
  });

  it("gives two replicas the same version when no rejection is outstanding, and also for the same rejections", () => {
    const fixtures = [fixtureOf(A, B, C), fixtureOf(C, B, A)];
    for (const fixture of fixtures) {
      fixture.connect(rejecting("default/b=1"));
      fixture.settle();
    }
    expect(fixtures[0]?.snapshotFor("any")?.version).toBe(fixtures[1]?.snapshotFor("any")?.version);
    for (const fixture of fixtures) {
      fixture.want(A, { ...B, requestsPerUnit: 2 }, C);
      fixture.settle();
      expect(fixture.snapshotFor("any")?.version).toBe(fixture.wantedVersion);
    }
  });
});
