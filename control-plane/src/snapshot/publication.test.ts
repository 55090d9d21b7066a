// Tests of publication.ts: what is kept back and what is not. Case numbers are those of the
// protocol's test list.
import { describe, expect, it } from "vitest";

import { translateResources } from "../assemble/translate-resources.ts";
import { type ManifestText, stateOfManifests } from "../assemble/manifests.suite.ts";
import { nextReleaseMs, OTHER_FLEETS, type Publication, publicationFor, publish, UNPUBLISHED } from "./publication.ts";
import { buildSnapshots, type SnapshotSet } from "./snapshot.ts";

const OPTIONS = { snapshotMaxBytes: 100_000, allowEmptyAfterMs: 10_000 };
const A: ManifestText = { name: "a", domain: "alpha" };
const GOLD: ManifestText = { name: "g", domain: "gold", fleets: ["gold"] };
const LARGE: ManifestText = { name: "large", domain: "large", largeRules: 200 };

function setOf(...manifests: readonly ManifestText[]): SnapshotSet {
  return buildSnapshots(translateResources(stateOfManifests(...manifests)));
}

/**
 * What becomes active when these sets are wanted one after the other, each at its time in
 * milliseconds.
 */
function after(...steps: readonly (readonly [atMs: number, wanted: SnapshotSet])[]): Publication {
  return steps.reduce((current, [atMs, wanted]) => publish(current, wanted, atMs, OPTIONS), UNPUBLISHED);
}

/**
 * Names of the resources of a fleet, or that there is nothing, and why newer content is kept back.
 */
function shown(publication: Publication, fleet = OTHER_FLEETS): readonly unknown[] {
  const found = publicationFor(publication, fleet);
  return [found?.snapshot?.resources.map(({ name }) => name) ?? "nothing", found?.hold?.kind];
}

describe("publish()", () => {
  it("publishes a set that is not empty immediately", () => {
    expect(shown(after([0, setOf(A)]))).toEqual([["default/a"], undefined]);
  });

  it("case 24: publishes that nothing is left when it stays so, and knows no resource then", () => {
    const held = after([0, setOf(A)], [1000, setOf()], [10_999, setOf()]);
    expect([shown(held), nextReleaseMs(held)]).toEqual([[["default/a"], "empty"], 11_000]);
    const released = publish(held, setOf(), 11_000, OPTIONS);
    expect([shown(released), nextReleaseMs(released)]).toEqual([[[], undefined], undefined]);
    expect(released.get(OTHER_FLEETS)?.snapshot?.digests.size).toBe(0);
  });

  it("forgets the wait when resources come back, and waits in full the next time", () => {
    const back = after([0, setOf(A)], [1000, setOf()], [5000, setOf(A)]);
    expect([shown(back), nextReleaseMs(back)]).toEqual([[["default/a"], undefined], undefined]);
    expect(nextReleaseMs(publish(back, setOf(), 9000, OPTIONS))).toBe(19_000);
  });

  it("waits for each fleet by itself, and tells the earliest end of a wait", () => {
    const both = after([0, setOf({ ...A, fleets: ["one"] }, GOLD)], [20_000, setOf({ ...A, fleets: ["one"] }, GOLD)]);
    const first = publish(both, setOf(GOLD), 30_000, OPTIONS);
    const second = publish(first, setOf(), 33_000, OPTIONS);
    expect([nextReleaseMs(first), nextReleaseMs(second)]).toEqual([40_000, 40_000]);
    const released = publish(second, setOf(), 40_000, OPTIONS);
    expect([shown(released, "one"), shown(released, "gold"), nextReleaseMs(released)]).toEqual([
      [[], undefined],
      [["default/g"], "empty"],
      43_000,
    ]);
  });

  it("waits with an empty set at the start too", () => {
    expect(shown(after([0, setOf()]))).toEqual(["nothing", "empty"]);
    expect(shown(after([0, setOf()], [10_000, setOf()]))).toEqual([[], undefined]);
  });

  it("publishes an empty set immediately when no wait is set", () => {
    expect(shown(publish(UNPUBLISHED, setOf(), 0, { ...OPTIONS, allowEmptyAfterMs: 0 }))).toEqual([[], undefined]);
  });

  it("case A13: keeps the old snapshot when the new one is too large, and names the resource that made it so", () => {
    const publication = after([0, setOf(A)], [1, setOf(A, LARGE)]);
    expect(shown(publication)).toEqual([["default/a"], "too-large"]);
    expect(publication.get(OTHER_FLEETS)?.hold).toMatchObject({ resources: ["default/large"] });
    expect(publication.get(OTHER_FLEETS)?.hold).toHaveProperty("sizeBytes", setOf(A, LARGE).others.body.length);
  });

  it("publishes a snapshot of exactly the bytes that are allowed, and not of one more", () => {
    const { length } = setOf(A).others.body;
    const shownAt = (snapshotMaxBytes: number): readonly unknown[] =>
      shown(publish(UNPUBLISHED, setOf(A), 0, { ...OPTIONS, snapshotMaxBytes }));
    expect([shownAt(length), shownAt(length - 1)]).toEqual([
      [["default/a"], undefined],
      ["nothing", "too-large"],
    ]);
  });

  it("names what is new or has grown, not the largest that was there before, when that made the snapshot too large", () => {
    const large = (rules: number): ManifestText => ({ ...LARGE, largeRules: rules });
    const step = (...wanted: readonly ManifestText[]): Publication =>
      after([0, setOf(A, large(80))], [1, setOf(...wanted)]);
    const more: ManifestText = { name: "more", domain: "more", largeRules: 30 };
    expect(step(A, large(80), more).get(OTHER_FLEETS)?.hold).toMatchObject({ resources: ["default/more"] });
    expect(step({ ...A, largeRules: 30 }, large(79)).get(OTHER_FLEETS)?.hold).toMatchObject({
      resources: ["default/a"],
    });
  });

  it("publishes nothing, and names the largest resource, when the first snapshot is too large", () => {
    const publication = after([0, setOf(A, LARGE)]);
    expect(shown(publication)).toEqual(["nothing", "too-large"]);
    expect(publication.get(OTHER_FLEETS)?.hold).toMatchObject({ resources: ["default/large"] });
  });

  it("publishes again when the content is small again, and is unchanged when it is what it was", () => {
    const before = after([0, setOf(A)]);
    const back = publish(publish(before, setOf(A, LARGE), 1, OPTIONS), setOf(A), 2, OPTIONS);
    expect(back.get(OTHER_FLEETS)).toEqual({ snapshot: before.get(OTHER_FLEETS)?.snapshot, hold: undefined });
  });

  it("keeps the same object when content is the same, so that nobody is told", () => {
    const before = after([0, setOf(A)]);
    expect(publish(before, setOf(A), 1, OPTIONS).get(OTHER_FLEETS)?.snapshot).toBe(before.get(OTHER_FLEETS)?.snapshot);
  });

  it("keeps back a fleet that is too large without holding up the others", () => {
    const publication = after(
      [0, setOf(A, GOLD)],
      [1, setOf({ ...A, requestsPerUnit: 6 }, { ...LARGE, fleets: ["gold"] })],
    );
    expect([shown(publication), shown(publication, "gold")]).toEqual([
      [["default/a"], undefined],
      [["default/a", "default/g"], "too-large"],
    ]);
  });

  it("gives a fleet that is named for the first time and too large what it had as one of the others", () => {
    const publication = after([0, setOf(A)], [1, setOf(A, { ...LARGE, fleets: ["gold"] })]);
    expect(shown(publication, "gold")).toEqual([["default/a"], "too-large"]);
  });

  it("lets a fleet join the others when no resource names it any more", () => {
    const publication = after([0, setOf(A, GOLD)], [1, setOf(A)]);
    expect([[...publication.keys()], shown(publication, "gold")]).toEqual([[OTHER_FLEETS], [["default/a"], undefined]]);
  });

  it("guards a fleet that loses its last resource even when the others are empty already", () => {
    const emptyOthers = after([0, setOf(GOLD)], [20_000, setOf(GOLD)]);
    expect([shown(emptyOthers), shown(emptyOthers, "gold")]).toEqual([
      [[], undefined],
      [["default/g"], undefined],
    ]);
    const held = publish(emptyOthers, setOf(), 30_000, OPTIONS);
    expect([shown(held, "gold"), nextReleaseMs(held)]).toEqual([[["default/g"], "empty"], 40_000]);
    const released = publish(held, setOf(), 40_000, OPTIONS);
    expect([[...released.keys()], shown(released, "gold")]).toEqual([[OTHER_FLEETS], [[], undefined]]);
  });
});
