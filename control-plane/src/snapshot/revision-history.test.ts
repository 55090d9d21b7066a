// Tests of revision-history.ts: which earlier revisions are kept, and in which order.
import { describe, expect, it } from "vitest";

import type { Revision } from "./revision.ts";
import { RevisionHistory, type IsLoaded, type RevisionFacts } from "./revision-history.ts";
import { contentsOf, revisionOf } from "./revisions.suite.ts";

const NOTHING_LOADED: IsLoaded = () => false;
const ALL_LOADED: IsLoaded = () => true;

/** The source has handed over these revisions of every resource. */
function factsOf(isLoaded: IsLoaded, lastGood: readonly Revision[] = []): RevisionFacts {
  return { lastGoodOf: () => lastGood, isLoaded };
}

/** A history after these contents of one resource were published one after the other. */
function historyOf(contents: readonly number[], isLoaded = NOTHING_LOADED, ...lastGood: Revision[]): RevisionHistory {
  const history = new RevisionHistory();
  const facts = factsOf(isLoaded, lastGood);
  for (const content of contents) history.update([revisionOf({ name: "a", content })], facts);
  return history;
}

describe("RevisionHistory", () => {
  it.each([
    { when: "one revision was published", contents: [1], kept: ["1"] },
    { when: "two were", contents: [1, 2], kept: ["2", "1"] },
    { when: "three were, and no pod loaded the first", contents: [1, 2, 3], kept: ["3", "2"] },
    { when: "the content did not change", contents: [1, 2, 2], kept: ["2", "1"] },
    { when: "the content changed and changed back", contents: [1, 2, 1], kept: ["1", "2"] },
  ])("keeps the published revision and the one before when $when", ({ contents, kept }) => {
    expect(contentsOf(historyOf(contents).revisionsOf("default/a"))).toEqual(
      kept.map((content) => `default/a=${content}`),
    );
  });

  it("keeps four more that connected pods have loaded, the newest", () => {
    const revisions = historyOf([1, 2, 3, 4, 5, 6, 7, 8], ALL_LOADED).revisionsOf("default/a");
    expect(contentsOf(revisions)).toEqual([8, 7, 6, 5, 4, 3].map((content) => `default/a=${content}`));
  });

  it("keeps a revision that pods had loaded over later ones that no pod loads", () => {
    const history = historyOf([1, 2, 3], ({ digest }) => digest === revisionOf({ name: "a", content: 1 }).digest);
    for (const content of [4, 5]) history.update([revisionOf({ name: "a", content })], factsOf(NOTHING_LOADED));
    expect(contentsOf(history.revisionsOf("default/a"))).toEqual(["default/a=5", "default/a=4", "default/a=1"]);
  });

  it("has the revisions that the source handed over as the oldest", () => {
    const lastGood = [9, 8].map((content, index) => revisionOf({ name: "a", content, sequence: -index }));
    const revisions = historyOf([1, 2, 3], ALL_LOADED, ...lastGood).revisionsOf("default/a");
    expect(contentsOf(revisions)).toEqual([3, 2, 1, 9, 8].map((content) => `default/a=${content}`));
  });

  it("keeps what it has of resources that are held back, without those that are gone", () => {
    const history = new RevisionHistory();
    const [a, b, c] = ["a", "b", "c"].map((name) => revisionOf({ name })) as [Revision, Revision, Revision];
    history.update([a, b, c], factsOf(NOTHING_LOADED));
    history.update([b], factsOf(NOTHING_LOADED), [a]);
    expect([a, b, c].map(({ name }) => history.revisionsOf(name).length)).toEqual([1, 1, 0]);
  });

  it("keeps nothing of a resource of another identity, or that is gone", () => {
    const history = historyOf([1, 2]);
    history.update([revisionOf({ name: "a", content: 3, identity: "two" })], factsOf(ALL_LOADED));
    expect(contentsOf(history.revisionsOf("default/a"))).toEqual(["default/a=3"]);
    history.update([], factsOf(ALL_LOADED));
    expect(history.revisionsOf("default/a")).toEqual([]);
    expect(history.revisionsOf("default/unknown")).toEqual([]);
  });
});
