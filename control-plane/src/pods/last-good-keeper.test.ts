// Tests of last-good-keeper.ts: which revisions a source is handed to keep.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLog, silentLog } from "@weir/common/log/log";

import { type ManifestText, stateOfManifests } from "../translate/manifests.suite.ts";
import { Publisher } from "../snapshot/publisher.ts";
import type { LastGoodRevisions, Source, SourceState } from "../source/source.ts";
import { LastGoodKeeper } from "./last-good-keeper.ts";

const OPTIONS = {
  debounceQuietMs: 1,
  debounceMaxMs: 1,
  snapshotMaxBytes: 100_000,
  namespaceMaxBytes: undefined,
  allowEmptyAfterMs: 60_000,
};
const A: ManifestText = { name: "a", domain: "alpha", requestsPerUnit: 1 };
const B: ManifestText = { name: "b", domain: "beta", requestsPerUnit: 1 };

describe("LastGoodKeeper", () => {
  let state: SourceState;
  let publisher: Publisher;
  let keeper: LastGoodKeeper;
  let kept: readonly LastGoodRevisions[];
  let isFailing: boolean;
  let lines: string[];

  function startKeeper(): void {
    const keepLastGood = (revisions: readonly LastGoodRevisions[]): Promise<void> => {
      if (isFailing) return Promise.reject(new Error("disk full"));
      kept = revisions;
      return Promise.resolve();
    };
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    keeper = new LastGoodKeeper({ log, publisher, source: { keepLastGood } });
    keeper.start();
  }

  /** Publishes these manifests. */
  async function want(...manifests: readonly ManifestText[]): Promise<void> {
    await wantState(stateOfManifests(...manifests));
  }

  async function wantState(next: SourceState): Promise<void> {
    state = next;
    publisher.changed();
    await vi.advanceTimersByTimeAsync(10);
  }

  /** The limits that are kept, by name, when everything has been quiet for a while. */
  async function limits(): Promise<Readonly<Record<string, readonly (number | undefined)[]>>> {
    await vi.advanceTimersByTimeAsync(1000);
    return Object.fromEntries(
      kept.map(({ name, revisions }) => [
        name,
        revisions.map(({ spec }) => spec.descriptors?.[0]?.rateLimit?.requestsPerUnit),
      ]),
    );
  }

  beforeEach(async () => {
    vi.useFakeTimers({ now: 1_000_000 });
    state = stateOfManifests(A, B);
    const source: Source = {
      name: "source of the test",
      location: "here",
      start: () => Promise.resolve(),
      stop: () => undefined,
      condition: () => ({ syncedMs: 0, problem: undefined }),
      read: () => Promise.resolve(state),
      onChanged: () => undefined,
    };
    publisher = new Publisher({ log: silentLog(), clock: Date.now, source }, OPTIONS);
    await publisher.start();
    [kept, isFailing, lines] = [[], false, []];
    startKeeper();
  });

  afterEach(async () => {
    await keeper.stop();
    await publisher.stop();
    vi.useRealTimers();
  });

  it("keeps the revisions that the replica keeps, the newest first", async () => {
    expect(await limits()).toEqual({ a: [1], b: [1] });
    await want({ ...A, requestsPerUnit: 2 }, B);
    expect(await limits()).toEqual({ a: [2, 1], b: [1] });
    await want({ ...A, requestsPerUnit: 3 }, B);
    expect(await limits()).toEqual({ a: [3, 2], b: [1] });
  });

  it("keeps the revisions from before when a resource becomes invalid, and forgets a deleted one", async () => {
    await limits();
    const [good] = state.resources;
    if (good === undefined) throw new Error("No resource");
    await wantState({ resources: [{ ...good, isLastGood: true }], refusals: [] });
    expect(await limits()).toEqual({ a: [1] });
  });

  it("keeps everything while an empty set is held back", async () => {
    await limits();
    await want();
    expect(await limits()).toEqual({ a: [1], b: [1] });
  });

  it("keeps what the process before kept", async () => {
    const [resource] = stateOfManifests({ ...A, requestsPerUnit: 9 }).resources;
    const before = stateOfManifests({ ...A, requestsPerUnit: 3 }).resources.map((each) => each.resource);
    if (resource === undefined) throw new Error("No resource");
    await wantState({ resources: [{ ...resource, lastGood: before }], refusals: [] });
    expect(await limits()).toEqual({ a: [9, 1, 3] });
  });

  it("logs that the source fails, and continues", async () => {
    isFailing = true;
    expect(await limits()).toEqual({});
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: "error", "@message": "Cannot keep last good revisions", error: "disk full" },
    ]);
    isFailing = false;
    await want(A);
    expect(await limits()).toEqual({ a: [1] });
  });

  it("writes the last change when it stops", async () => {
    await limits();
    await want({ ...A, requestsPerUnit: 2 });
    await keeper.stop();
    expect(kept.map(({ name, revisions }) => [name, revisions.length])).toEqual([["a", 2]]);
  });
});
