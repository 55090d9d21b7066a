// Tests of quarantine.ts and quarantine-fleet.ts, through the streams of pods. Case numbers are
// those of the protocol's test list.
import { describe, expect, it } from "vitest";

import { FakeAdsStream } from "../ads/fake-ads-stream.suite.ts";
import type { ManifestText } from "../assemble/manifests.suite.ts";
import { contentsOf, EASY, QuarantineWorld, rejecting, type Taste } from "./quarantine.suite.ts";

const A: ManifestText = { name: "a", domain: "alpha", requestsPerUnit: 1 };
const A2: ManifestText = { ...A, requestsPerUnit: 2 };
const B: ManifestText = { name: "b", domain: "beta", requestsPerUnit: 1 };
const C: ManifestText = { name: "c", domain: "gamma", requestsPerUnit: 1 };

/** A pod that rejects everything and names the first resource. */
const HOSTILE: Taste = { rejects: () => true, answers: "named" };

function unnamed(...contents: readonly string[]): Taste {
  return { ...rejecting(...contents), answers: "unnamed" };
}

/** A world that wants these resources. */
function worldOf(...manifests: readonly ManifestText[]): QuarantineWorld {
  const world = new QuarantineWorld();
  world.want(...manifests);
  return world;
}

/** What is in force for pods of no particular fleet. */
function inForce(world: QuarantineWorld, fleet = "any"): readonly string[] {
  return contentsOf(world.snapshotFor(fleet));
}

describe("Quarantine of a resource", () => {
  it("case A9: leaves out what a pod rejects by name under a new version, tells why, and lifts it at the edit", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=1"));
    world.settle();
    expect([inForce(world), pod.loaded]).toEqual([["default/b=1"], ["default/b=1"]]);
    expect(world.snapshotFor("any")?.version).not.toBe(world.wantedVersion);
    expect(world.quarantine.rejections()).toEqual({
      resources: [
        {
          fleet: "",
          resource: "default/a",
          sinceMs: 1_000_000,
          message: "default/a: cannot load it",
          serves: "nothing",
          rejectingPods: 1,
        },
      ],
      versions: [],
    });
    world.want(A2, B);
    world.settle();
    expect([inForce(world), pod.loaded]).toEqual([
      ["default/a=2", "default/b=1"],
      ["default/a=2", "default/b=1"],
    ]);
    expect(world.quarantine.rejections()).toEqual({ resources: [], versions: [] });
    expect(world.snapshotFor("any")?.version).toBe(world.wantedVersion);
  });

  it("serves the form that was accepted last when an edit is rejected", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=2"));
    world.settle();
    world.want(A2, { ...B, requestsPerUnit: 2 });
    world.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=2"]);
    expect(world.quarantine.rejections().resources).toMatchObject([{ resource: "default/a", serves: "last-good" }]);
  });

  it("keeps it through edits of other resources, and asks the pod no more", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=1"));
    world.settle();
    for (let limit = 2; limit <= 5; limit += 1) {
      world.want(A, { ...B, requestsPerUnit: limit });
      world.settle();
    }
    expect(pod.loaded).toEqual(["default/b=5"]);
    // The first offer, what is left of it, and four edits.
    expect(pod.stream.responses).toHaveLength(6);
  });

  it("converges at once when several resources are bad, each rejection naming one", () => {
    const world = worldOf(A, B, C);
    const pod = world.connect(rejecting("default/a=1", "default/c=1"));
    expect(world.settle()).toBe(3);
    expect(pod.loaded).toEqual(["default/b=1"]);
  });

  it("forgets the rejection when the resource is deleted, and asks again when it comes back", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=1"));
    world.settle();
    world.want(B);
    expect(world.quarantine.rejections().resources).toEqual([]);
    world.want(A, B);
    expect(pod.isAsked).toBe(true);
    world.settle();
    expect(inForce(world)).toEqual(["default/b=1"]);
  });

  it("does not serve the last good form of a resource that was deleted meanwhile, whatever stood beside it", () => {
    const world = worldOf(A, B, C);
    world.connect(rejecting("default/a=2", "default/b=2", "default/c=2"));
    world.settle();
    world.want(B, { ...C, name: "d", domain: "delta" });
    world.settle();
    world.want(A2, { ...B, requestsPerUnit: 2 }, { ...C, requestsPerUnit: 2 });
    world.settle();
    expect(inForce(world)).toEqual(["default/b=1"]);
  });

  it("does not serve a last good form whose domain has another owner now", () => {
    const world = worldOf(A, B);
    world.connect(rejecting("default/a=2"));
    world.settle();
    // a moves to another domain and is rejected there; meanwhile c takes the domain that it left.
    world.want({ ...A2, domain: "moved" }, B, { ...C, domain: "alpha" });
    world.settle();
    expect(inForce(world)).toEqual(["default/b=1", "default/c=1"]);
    expect(world.quarantine.rejections().resources).toMatchObject([{ resource: "default/a", serves: "nothing" }]);
  });

  it("serves the last good form of a domain's owner, and never that of who has left the domain, when both are rejected", () => {
    const world = worldOf(A, B);
    world.connect(rejecting("default/a=2", "default/c=2"));
    world.settle();
    const moved = { ...A2, domain: "moved" };
    const taken = { ...C, domain: "alpha" };
    world.want(moved, B, taken);
    world.settle();
    world.want(moved, B, { ...taken, requestsPerUnit: 2 });
    world.settle();
    expect(inForce(world)).toEqual(["default/b=1", "default/c=1"]);
    expect(world.quarantine.rejections().resources.map(({ resource, serves }) => [resource, serves])).toEqual([
      ["default/a", "nothing"],
      ["default/c", "last-good"],
    ]);
  });

  it("serves one of two last good forms whose domain nobody wants any more", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=2", "default/c=2"));
    world.settle();
    const moved = { ...A2, domain: "moved" };
    world.want(moved, B, { ...C, domain: "alpha" });
    world.settle();
    world.want(moved, B, { ...C, domain: "moved-too", requestsPerUnit: 2 });
    world.settle();
    expect([inForce(world), pod.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("cuts the text of a rejection", () => {
    const world = worldOf(A);
    const pod = world.connect();
    pod.stream.reject(`default/a: ${"x".repeat(100_000)}`);
    expect(world.quarantine.rejections().resources[0]?.message).toBe(`default/a: ${"x".repeat(4085)}…`);
  });

  it("takes a name only at the beginning of the text, before a colon, and only of a resource that the pod was sent", () => {
    for (const text of ["cannot load default/a: no", "default/a no", "default/ab: no", "default/c: no", ": no", ""]) {
      const world = worldOf(A, B);
      world.connect().stream.reject(text);
      expect([text, world.quarantine.rejections().resources, inForce(world)]).toEqual([
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
    const world = worldOf(...manifests);
    world.connect(HOSTILE);
    expect(world.settle(300)).toBe(201);
    expect(inForce(world)).toHaveLength(30);
  });
});

describe("Quarantine among several pods", () => {
  it("only reports a rejection when another pod accepted the content", () => {
    const world = worldOf(A, B);
    const [easy, hostile] = [world.connect(), world.connect(HOSTILE)];
    world.settle();
    expect([inForce(world), easy.loaded, hostile.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
      [],
    ]);
    expect(hostile.stream.responses).toHaveLength(1);
    expect(world.quarantine.rejections().resources).toMatchObject([
      { resource: "default/a", serves: "present", rejectingPods: 1 },
    ]);
  });

  it("takes nothing from fifty sound pods when a hostile one answers first", () => {
    const world = worldOf(A, B, C);
    const hostile = world.connect(HOSTILE);
    const sound = Array.from({ length: 50 }, () => world.connect());
    while (hostile.isAsked) hostile.answer();
    world.settle();
    expect(new Set(sound.map((pod) => pod.stream.responses.length))).toEqual(new Set([1]));
    expect(sound.map((pod) => pod.loaded)).toEqual(
      Array.from({ length: 50 }, () => ["default/a=1", "default/b=1", "default/c=1"]),
    );
    expect([inForce(world).length, world.snapshotFor("any")?.version]).toEqual([3, world.wantedVersion]);
  });

  it("takes nothing from a sound pod that connects when a hostile one has rejected everything", () => {
    const world = worldOf(A, B);
    world.connect(HOSTILE);
    world.settle();
    expect(inForce(world)).toEqual([]);
    const sound = world.connect();
    world.settle();
    expect([sound.stream.responses.length, sound.loaded]).toEqual([1, ["default/a=1", "default/b=1"]]);
    expect(inForce(world)).toEqual(["default/a=1", "default/b=1"]);
  });

  it("asks a pod that rejects one resource about the others that only a hostile pod rejected", () => {
    const world = worldOf(A, B, C);
    world.connect(HOSTILE);
    world.settle();
    const pod = world.connect(rejecting("default/b=1"));
    world.settle();
    expect([pod.loaded, inForce(world)]).toEqual([
      ["default/a=1", "default/c=1"],
      ["default/a=1", "default/c=1"],
    ]);
  });

  it("goes on with the rest for a pod that rejects without a name what it was asked about", () => {
    const world = worldOf(A, B);
    world.connect(rejecting("default/a=1"));
    world.settle();
    const wordless = world.connect(unnamed("default/a=1"));
    world.settle();
    expect([wordless.stream.responses.length, wordless.loaded]).toEqual([2, ["default/b=1"]]);
  });

  it("takes nothing from a sound pod that has loaded what is wanted since before something else was wanted for a moment, and never in force", () => {
    const world = new QuarantineWorld(600);
    world.want(A, B);
    const sound = world.connect();
    world.settle();
    world.want(...["c", "d", "e", "f", "g", "h"].map((name) => ({ name, domain: name })));
    expect(world.inForce()?.hold?.kind).toBe("too-large");
    world.want(A, B);
    world.connect(HOSTILE, "hostile");
    world.settle();
    expect([inForce(world), sound.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
    expect(world.quarantine.rejections().resources).toMatchObject([
      { resource: "default/a", serves: "present", rejectingPods: 1 },
    ]);
  });

  it("lifts the quarantine when a pod accepts the content", () => {
    const world = worldOf(A, B);
    const old = world.connect(rejecting("default/a=1"));
    world.settle();
    const upgraded = world.connect();
    world.settle();
    expect(upgraded.loaded).toEqual(["default/a=1", "default/b=1"]);
    expect(inForce(world)).toEqual(["default/a=1", "default/b=1"]);
    expect(world.quarantine.rejections().resources).toMatchObject([{ serves: "present" }]);
    // The old pod is sent what it rejects already, keeps what it has, and is left in peace.
    expect([old.loaded, old.isAsked]).toEqual([["default/b=1"], false]);
  });

  it("serves everything else to all when every pod rejects a resource, without asking a pod twice", () => {
    const world = worldOf(A, B);
    const pods = Array.from({ length: 20 }, () => world.connect(rejecting("default/a=1")));
    expect(world.settle()).toBe(40);
    expect(new Set(pods.map((pod) => pod.loaded.join()))).toEqual(new Set(["default/b=1"]));
    expect(world.quarantine.rejections().resources).toMatchObject([{ rejectingPods: 20 }]);
    expect(world.publications).toBe(2);
  });

  it("asks no further pods when a hundred have rejected a content and none has accepted it", () => {
    const world = worldOf(A, B);
    for (let count = 0; count < 100; count += 1) world.connect(rejecting("default/a=1"));
    world.settle();
    const late = world.connect(rejecting("default/a=1"));
    expect(late.sent).toEqual(["default/b=1"]);
  });

  it("asks the pods that are left, and those that come, when fewer than a hundred of those that rejected are still connected", () => {
    const world = worldOf(A, B);
    const old = Array.from({ length: 120 }, () => world.connect(rejecting("default/a=1")));
    world.settle();
    const upgraded = Array.from({ length: 3 }, () => world.connect());
    world.settle();
    expect(upgraded.map(({ loaded }) => loaded)).toEqual([["default/b=1"], ["default/b=1"], ["default/b=1"]]);
    for (const pod of old) world.disconnect(pod);
    world.settle();
    expect(upgraded.map(({ loaded }) => loaded)).toEqual(upgraded.map(() => ["default/a=1", "default/b=1"]));
    expect([inForce(world), world.quarantine.rejections().resources]).toEqual([["default/a=1", "default/b=1"], []]);
  });

  it("asks a pod again when it comes back as a new process, under the name that the one before it had", () => {
    const world = worldOf(A, B);
    const old = world.connect(rejecting("default/a=1"), "vm-1");
    world.settle();
    world.disconnect(old);
    const upgraded = world.connect(EASY, "vm-1");
    world.settle();
    expect([upgraded.loaded, inForce(world)]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("tells of pods that reject what others accept as long as they are connected, and not when they accept it themselves", () => {
    const world = worldOf(A, B);
    world.connect();
    const [first, second] = [world.connect(rejecting("default/a=1")), world.connect(rejecting("default/a=1"))];
    world.settle();
    const rejecters = (): readonly number[] =>
      world.quarantine.rejections().resources.map(({ rejectingPods }) => rejectingPods);
    expect(rejecters()).toEqual([2]);
    world.disconnect(first);
    expect(rejecters()).toEqual([1]);
    world.disconnect(second);
    expect(rejecters()).toEqual([]);
    // It comes back with what it had: it is the same process, and its rejection stands until it
    // accepts.
    const back = world.connect(EASY, "pod-2", "any", "an earlier version");
    expect(rejecters()).toEqual([1]);
    back.answer();
    expect(rejecters()).toEqual([]);
  });

  it("keeps a resource quarantined, rejected by nobody who is connected, until a pod accepts it", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=1"));
    world.settle();
    world.disconnect(pod);
    expect(world.quarantine.rejections().resources).toMatchObject([
      { resource: "default/a", serves: "nothing", rejectingPods: 0 },
    ]);
    expect(inForce(world)).toEqual(["default/b=1"]);
  });

  it("does not flap when pods come back: they are sent what is in force, and nothing else comes into force", () => {
    const world = worldOf(A, B);
    const taste = rejecting("default/a=1");
    const pods = [world.connect(taste, "x"), world.connect(taste, "y")];
    world.settle();
    const before = world.publications;
    for (const pod of pods) world.disconnect(pod);
    for (const nodeId of ["y", "x"])
      expect(world.connect(taste, nodeId, "any", "an earlier version").sent).toEqual(["default/b=1"]);
    world.settle();
    expect([world.publications - before, inForce(world)]).toEqual([0, ["default/b=1"]]);
  });

  it("is heard when a pod that rejects something leaves, and not when another one does", () => {
    const world = worldOf(A, B);
    const [rejects, accepts] = [world.connect(rejecting("default/a=1")), world.connect()];
    world.settle();
    let told = 0;
    const end = world.quarantine.onChanged(() => (told += 1));
    world.disconnect(accepts);
    expect(told).toBe(0);
    world.disconnect(rejects);
    expect(told).toBe(1);
    end();
    world.connect(rejecting("default/b=1")).answer();
    expect(told).toBe(1);
  });

  it("case A11: tells apart what two streams with the same node id say", () => {
    const world = worldOf(A, B);
    const [first, second] = [world.connect(rejecting("default/a=1"), "default"), world.connect(EASY, "default")];
    first.answer();
    expect(inForce(world)).toEqual(["default/b=1"]);
    // The second has not been asked to give up what only the first rejects.
    expect(second.stream.responses).toHaveLength(1);
    second.answer();
    expect(inForce(world)).toEqual(["default/a=1", "default/b=1"]);
  });

  it("is not held up by a pod that never answers", () => {
    const world = worldOf(A, B);
    const silent = world.connect({ rejects: () => false, answers: "silent" });
    const pod = world.connect(rejecting("default/a=1"));
    world.settle();
    expect([pod.loaded, inForce(world)]).toEqual([["default/b=1"], ["default/b=1"]]);
    world.want(A, { ...B, requestsPerUnit: 2 });
    world.settle();
    expect([pod.loaded, silent.stream.responses.length]).toEqual([["default/b=2"], 2]);
  });

  it("takes the acceptance of an older form for a last good form, but not over a newer one", () => {
    const [world, taste] = [worldOf(A, B), rejecting("default/a=4")];
    const [quick, slow] = [world.connect(taste), world.connect(taste)];
    world.settle();
    // The slow one gets the second form and answers it when the fourth is rejected by the other
    // already.
    slow.stream.stopReading();
    for (const requestsPerUnit of [2, 3, 4]) {
      world.want({ ...A, requestsPerUnit }, B);
      quick.answer();
    }
    expect([slow.sent, inForce(world)]).toEqual([
      ["default/a=2", "default/b=1"],
      ["default/a=3", "default/b=1"],
    ]);
    slow.answer();
    expect(inForce(world)).toEqual(["default/a=3", "default/b=1"]);
  });
});

describe("Quarantine and pods that ask for some resources by name", () => {
  /** The stream of a pod that wants only this resource. */
  function connectFor(world: QuarantineWorld, name: string): FakeAdsStream {
    const stream = new FakeAdsStream(world, world.registry, world.quarantine);
    stream.request({ names: [name], node: { id: `only-${name}` } });
    return stream;
  }

  it("takes their acceptance for that of what they were sent, and of nothing else", () => {
    const world = worldOf(A, B);
    connectFor(world, "default/a").accept(["default/a"]);
    world.connect(HOSTILE).answer();
    expect(world.quarantine.rejections().resources.map(({ resource, serves }) => [resource, serves])).toEqual([
      ["default/a", "present"],
    ]);
    world.connect(rejecting("default/b=1")).answer();
    expect(inForce(world)).toEqual(["default/a=1"]);
  });

  it("is heard when their acceptance says something new of what is rejected, and never again for the same", () => {
    const world = worldOf(A, B);
    world.connect(rejecting("default/a=2"));
    world.settle();
    world.want(A2, B);
    world.settle();
    let told = 0;
    world.quarantine.onChanged(() => (told += 1));
    const pods = ["default/b", "default/a", "default/b", "default/a"].map((name) => ({
      name,
      stream: connectFor(world, name),
    }));
    // In the end all have what is wanted, which was offered to those of a.
    const heard = pods.map(({ name, stream }) => {
      stream.accept([name]);
      return told;
    });
    expect([heard, inForce(world)]).toEqual([
      [0, 1, 1, 1],
      ["default/a=2", "default/b=1"],
    ]);
  });

  it("is not heard when they accept the last good form of what is rejected once more", () => {
    const world = worldOf(A, B);
    world.connect(rejecting("default/a=2"));
    world.settle();
    world.want(A2, B);
    world.settle();
    const snapshot = world.snapshotFor("any");
    if (snapshot === undefined) throw new Error("Nothing is in force");
    let told = 0;
    world.quarantine.onChanged(() => (told += 1));
    const only = world.quarantine.joined({ nodeId: "only-default/a", fleet: "any", peer: "192.0.2.2:1" });
    for (let count = 1; count <= 2; count += 1) only.accepted({ snapshot, names: new Set(["default/a"]) });
    expect([told, contentsOf(snapshot)]).toEqual([0, ["default/a=1", "default/b=1"]]);
  });

  it("takes their rejection for that of what they were sent, and of nothing else", () => {
    const world = worldOf(A, B);
    connectFor(world, "default/b").reject("default/a: no");
    expect([inForce(world), world.quarantine.rejections().resources]).toEqual([["default/a=1", "default/b=1"], []]);
    connectFor(world, "default/a").reject("default/a: no");
    expect(inForce(world)).toEqual(["default/b=1"]);
  });
});

describe("Quarantine of a whole version", () => {
  it("case A10: restores what a pod accepted last when a rejection names no resource, until something else is wanted", () => {
    const world = worldOf(A, B);
    const pod = world.connect(unnamed("default/a=2"));
    world.settle();
    const accepted = world.snapshotFor("any");
    world.want(A2, B);
    const rejectedVersion = world.wantedVersion;
    world.settle();
    expect(world.inForce()).toEqual({
      snapshot: accepted,
      hold: { kind: "rejected", version: rejectedVersion, sinceMs: 1_000_000, message: "out of memory" },
    });
    expect(world.quarantine.rejections()).toEqual({
      resources: [],
      versions: [
        {
          fleet: "",
          version: rejectedVersion,
          sinceMs: 1_000_000,
          message: "out of memory",
          restored: accepted?.version,
          rejectingPods: 1,
        },
      ],
    });
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1"]);
    world.want({ ...A, requestsPerUnit: 3 }, B);
    world.settle();
    expect([world.inForce()?.hold, pod.loaded]).toEqual([undefined, ["default/a=3", "default/b=1"]]);
  });

  it("restores what was accepted last, also when that had been quarantined for a while before it was accepted", () => {
    const world = worldOf(A);
    const old = world.connect(rejecting("default/b=1"));
    world.settle();
    world.want(A, B);
    world.settle();
    expect(old.loaded).toEqual(["default/a=1"]);
    const pod = world.connect(unnamed("default/c=1"));
    world.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1"]);
    world.disconnect(old);
    world.want(A, B, C);
    world.settle();
    // The team of b loses nothing by the mistake of the team of c.
    expect([inForce(world), pod.loaded]).toEqual([
      ["default/a=1", "default/b=1"],
      ["default/a=1", "default/b=1"],
    ]);
  });

  it("keeps the version when another pod accepts it, whoever answers first", () => {
    for (const order of [
      [unnamed("default/a=2"), EASY],
      [EASY, unnamed("default/a=2")],
    ]) {
      const world = worldOf(A, B);
      for (const taste of order) world.connect(taste);
      world.settle();
      world.want(A2, B);
      world.settle();
      expect([inForce(world), world.inForce()?.hold]).toEqual([["default/a=2", "default/b=1"], undefined]);
    }
  });

  it("keeps the version when nothing was ever accepted, and says so", () => {
    const world = worldOf(A);
    world.connect(unnamed("default/a=1"));
    world.settle();
    expect(inForce(world)).toEqual(["default/a=1"]);
    expect(world.quarantine.rejections().versions).toMatchObject([{ restored: undefined, rejectingPods: 1 }]);
  });

  it("restores nothing that was not accepted by the end: a pod that rejects all in words of its own harms nobody", () => {
    const world = worldOf(A, B);
    world.connect({ rejects: () => true, answers: "unnamed" });
    const sound = world.connect();
    for (let limit = 2; limit < 6; limit += 1) {
      world.settle();
      world.want({ ...A, requestsPerUnit: limit }, B);
    }
    world.settle();
    expect([sound.loaded, sound.stream.responses.length]).toEqual([["default/a=5", "default/b=1"], 5]);
  });
});

describe("Quarantine by fleet", () => {
  it("quarantines in the fleet whose pods reject, and nowhere else", () => {
    const world = worldOf(A, { ...C, fleets: ["gold"] });
    const [gold, other] = [world.connect(rejecting("default/a=1"), "g", "gold"), world.connect(EASY, "o", "other")];
    world.settle();
    expect([gold.loaded, other.loaded]).toEqual([["default/c=1"], ["default/a=1"]]);
    expect(world.quarantine.rejections().resources).toMatchObject([
      { fleet: "gold", resource: "default/a", serves: "nothing" },
    ]);
  });

  it("keeps what pods said when their fleet is named for the first time", () => {
    const world = worldOf(A, B);
    const pod = world.connect(rejecting("default/a=2"), "g", "gold");
    world.settle();
    world.want(A2, B);
    world.settle();
    world.want(A2, B, { ...C, fleets: ["gold"] });
    world.settle();
    expect(pod.loaded).toEqual(["default/a=1", "default/b=1", "default/c=1"]);
    expect(world.quarantine.rejections().resources.map(({ fleet }) => fleet)).toEqual(["", "gold"]);
    world.want(A2, B);
    expect(world.quarantine.rejections().resources.map(({ fleet }) => fleet)).toEqual([""]);
  });

  it("sends what is in force to a pod that rejected without a name what others reject by name since their fleet was named", () => {
    const world = worldOf(B);
    world.want(A);
    const other = world.connect(unnamed("default/a=1"), "other", "gold");
    const late = world.connect(rejecting("default/a=1"), "late", "gold");
    other.answer();
    world.want({ ...A, fleets: ["gold"] });
    late.answer();
    world.settle();
    expect([inForce(world, "gold"), other.sent, late.sent]).toEqual([[], [], []]);
  });

  it("gives two replicas the same version when no rejection is outstanding, and also for the same rejections", () => {
    const worlds = [worldOf(A, B, C), worldOf(C, B, A)];
    for (const world of worlds) {
      world.connect(rejecting("default/b=1"));
      world.settle();
    }
    expect(worlds[0]?.snapshotFor("any")?.version).toBe(worlds[1]?.snapshotFor("any")?.version);
    for (const world of worlds) {
      world.want(A, { ...B, requestsPerUnit: 2 }, C);
      world.settle();
      expect(world.snapshotFor("any")?.version).toBe(world.wantedVersion);
    }
  });
});
