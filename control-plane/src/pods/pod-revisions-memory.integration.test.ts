// Tests the memory that the choices of a pod need which NACKs everything.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { describe, expect, it } from "vitest";

import { RevisionHistory } from "../snapshot/revision-history.ts";
import { NOTHING_KNOWN, revisionOf } from "../snapshot/revisions.suite.ts";
import { Snapshot } from "../snapshot/snapshot.ts";
import { PodRevisions } from "./pod-revisions.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function heapBytes(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve)); // Weak references live until the end of a turn.
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("PodRevisions", () => {
  it("needs little memory for hundreds of choices of thousands of earlier revisions", async () => {
    const list = Array.from({ length: 2000 }, (_, index) => revisionOf({ name: `team/resource-${1e6 + index}` }));
    const published = new Snapshot(list);
    const history = new RevisionHistory();
    history.update(list, NOTHING_KNOWN);
    let nowMs = 0;
    const revisions = new PodRevisions({
      revisionsOf: (name) => history.revisionsOf(name),
      snapshotMaxBytes: 1e9,
      clock: () => nowMs,
    });
    const before = await heapBytes();
    for (let choice = 0; choice < 300; choice += 1) {
      nowMs += 1000;
      const snapshot = revisions.choose(published, undefined);
      revisions.nack({ snapshot, names: undefined }, `${snapshot.revisions[0]?.name}: no`);
    }
    expect((await heapBytes()) - before).toBeLessThan(8e6);
    expect(revisions.nacks.size, "all of this is still in use").toBe(300);
    expect(published.revisions).toHaveLength(2000);
  });

  it("needs no memory for choices that no pod has any more", async () => {
    const list = Array.from({ length: 15 }, (_, index) => revisionOf({ name: `team-${index}/resource` }));
    const published = new Snapshot(list);
    const deps = { revisionsOf: () => [], snapshotMaxBytes: 1e9, clock: () => 0 };
    const before = await heapBytes();
    // Every choice of some of them, each of a pod that leaves.
    for (let choice = 1; choice < 2 ** 15; choice += 1) {
      const revisions = new PodRevisions(deps);
      for (const [index, { name }] of list.entries())
        if ((choice & (1 << index)) !== 0) revisions.nack({ snapshot: published, names: undefined }, `${name}: no`);
      revisions.choose(published, undefined);
      // Weak references live until the end of a turn.
      if (choice % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await heapBytes(); // Removes what is unused in a turn of its own.
    expect((await heapBytes()) - before).toBeLessThan(1e6);
    expect(published.revisions).toHaveLength(15);
  });
});
