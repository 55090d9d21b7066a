// Tests of publication.ts: what is kept back and what is not. Case numbers are those of the
// protocol's test list.
import { describe, expect, it } from "vitest";

import { type ManifestText, stateOfManifests, translateResources } from "../translate/manifests.suite.ts";
import { nextReleaseMs, OTHER_FLEETS, type Publication, publicationFor, publish, UNPUBLISHED } from "./publication.ts";
import type { SnapshotSet } from "./snapshot.ts";
import { snapshotsOf } from "./snapshots-of.suite.ts";

/** In milliseconds. */
const ALLOW_EMPTY_AFTER_MS = 10_000;

const A: ManifestText = { name: "a", domain: "alpha" };
const GOLD: ManifestText = { name: "g", domain: "gold", fleets: ["gold"] };

function setOf(...manifests: readonly ManifestText[]): SnapshotSet {
  return snapshotsOf(translateResources(stateOfManifests(...manifests)));
}

/**
 * The publication after these sets were wanted one after the other, each at its time in
 * milliseconds.
 */
function after(...steps: readonly (readonly [atMs: number, wanted: SnapshotSet])[]): Publication {
  return steps.reduce((current, [atMs, wanted]) => publish(current, wanted, atMs, ALLOW_EMPTY_AFTER_MS), UNPUBLISHED);
}

/**
 * Names of the resources of a fleet, or that there is nothing, and why newer content is kept back.
 */
function shown(publication: Publication, fleet = OTHER_FLEETS): readonly unknown[] {
  const found = publicationFor(publication, fleet);
  return [found?.snapshot?.revisions.map(({ name }) => name) ?? "nothing", found?.hold && "empty"];
}

describe("publish()", () => {
  it("publishes a set that is not empty immediately", () => {
    expect(shown(after([0, setOf(A)]))).toEqual([["default/a"], undefined]);
  });

  it("case 24: publishes that nothing is left when it stays so, and knows no resource then", () => {
    const held = after([0, setOf(A)], [1000, setOf()], [10_999, setOf()]);
    expect([shown(held), nextReleaseMs(held)]).toEqual([[["default/a"], "empty"], 11_000]);
    const released = publish(held, setOf(), 11_000, ALLOW_EMPTY_AFTER_MS);
    expect([shown(released), nextReleaseMs(released)]).toEqual([[[], undefined], undefined]);
    expect(released.get(OTHER_FLEETS)?.snapshot?.revisions).toEqual([]);
  });

  it("forgets the wait when resources come back, and waits in full the next time", () => {
    const back = after([0, setOf(A)], [1000, setOf()], [5000, setOf(A)]);
    expect([shown(back), nextReleaseMs(back)]).toEqual([[["default/a"], undefined], undefined]);
    expect(nextReleaseMs(publish(back, setOf(), 9000, ALLOW_EMPTY_AFTER_MS))).toBe(19_000);
  });

  it("waits for each fleet by itself, and tells the earliest end of a wait", () => {
    const both = after([0, setOf({ ...A, fleets: ["one"] }, GOLD)], [20_000, setOf({ ...A, fleets: ["one"] }, GOLD)]);
    const first = publish(both, setOf(GOLD), 30_000, ALLOW_EMPTY_AFTER_MS);
    const second = publish(first, setOf(), 33_000, ALLOW_EMPTY_AFTER_MS);
    expect([nextReleaseMs(first), nextReleaseMs(second)]).toEqual([40_000, 40_000]);
    const released = publish(second, setOf(), 40_000, ALLOW_EMPTY_AFTER_MS);
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
    expect(shown(publish(UNPUBLISHED, setOf(), 0, 0))).toEqual([[], undefined]);
  });

  it("keeps the same object when content is the same, so that no stream is notified", () => {
    const before = after([0, setOf(A)]);
    expect(publish(before, setOf(A), 1, ALLOW_EMPTY_AFTER_MS).get(OTHER_FLEETS)?.snapshot).toBe(
      before.get(OTHER_FLEETS)?.snapshot,
    );
  });

  it("publishes the others' changes while a fleet waits with an empty set", () => {
    const lonely = { ...A, fleets: ["gold"] };
    const before = after([0, setOf(lonely)], [20_000, setOf(lonely, { name: "b", domain: "beta", fleets: ["iron"] })]);
    const held = publish(
      before,
      setOf({ name: "b", domain: "beta", fleets: ["iron"], requestsPerUnit: 9 }),
      30_000,
      ALLOW_EMPTY_AFTER_MS,
    );
    expect([shown(held, "gold"), shown(held, "iron")]).toEqual([
      [["default/a"], "empty"],
      [["default/b"], undefined],
    ]);
    expect(held.get("iron")?.snapshot?.version).not.toBe(before.get("iron")?.snapshot?.version);
  });

  it("gives a fleet that is named for the first time its own snapshot immediately", () => {
    const publication = after([0, setOf(A)], [1, setOf(A, GOLD)]);
    expect([shown(publication), shown(publication, "gold")]).toEqual([
      [["default/a"], undefined],
      [["default/a", "default/g"], undefined],
    ]);
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
    const held = publish(emptyOthers, setOf(), 30_000, ALLOW_EMPTY_AFTER_MS);
    expect([shown(held, "gold"), nextReleaseMs(held)]).toEqual([[["default/g"], "empty"], 40_000]);
    const released = publish(held, setOf(), 40_000, ALLOW_EMPTY_AFTER_MS);
    expect([[...released.keys()], shown(released, "gold")]).toEqual([[OTHER_FLEETS], [[], undefined]]);
  });
});
