// Tests of last-good-keeper.ts: which forms a source is handed to keep.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silentLog } from "@weir/common/log/log";

import { type ManifestText, stateOfManifests } from "../assemble/manifests.suite.ts";
import { Publisher } from "../snapshot/publisher.ts";
import type { SourceResource, SourceState } from "../source/source.ts";
import { LastGoodKeeper } from "./last-good-keeper.ts";
import { PodRegistry, type PodReport } from "./pod-registry.ts";

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
  let pods: PodRegistry;
  let keeper: LastGoodKeeper;
  let kept: readonly SourceResource[];

  function startKeeper(): void {
    const keep = (forms: readonly SourceResource[]): Promise<void> => {
      kept = forms;
      return Promise.resolve();
    };
    keeper = new LastGoodKeeper({ publisher, pods, source: { keepLastGood: keep } });
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

  function connect(): PodReport {
    return pods.connected({ nodeId: "core/1", fleet: "core", namespace: "", pod: "", peer: "192.0.2.1:1" });
  }

  function accept(pod: PodReport): void {
    const snapshot = publisher.snapshotFor("core");
    if (snapshot !== undefined) pod.accepted({ snapshot, names: undefined });
  }

  /** The limits that are kept, by name, when everything has been quiet for a while. */
  async function limits(): Promise<Readonly<Record<string, number | undefined>>> {
    await vi.advanceTimersByTimeAsync(1000);
    return Object.fromEntries(
      kept.map(({ name, resource }) => [name, resource.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit]),
    );
  }

  beforeEach(async () => {
    vi.useFakeTimers({ now: 1_000_000 });
    pods = new PodRegistry({ clock: Date.now });
    publisher = new Publisher({ log: silentLog(), clock: Date.now, loadedForms: () => pods.loadedForms() }, OPTIONS);
    state = stateOfManifests(A, B);
    publisher.use({
      name: "source of the test",
      location: "here",
      start: () => Promise.resolve(),
      stop: () => undefined,
      condition: () => ({ syncedMs: 0, problem: undefined }),
      read: () => Promise.resolve(state),
    });
    await publisher.start();
    kept = [];
    startKeeper();
  });

  afterEach(async () => {
    await keeper.stop();
    await publisher.stop();
    vi.useRealTimers();
  });

  it("keeps what is published while no pod is connected", async () => {
    expect(await limits()).toEqual({ a: 1, b: 1 });
    await want({ ...A, requestsPerUnit: 2 }, B);
    expect(await limits()).toEqual({ a: 2, b: 1 });
  });

  it("keeps an edit only when a pod has loaded it", async () => {
    const pod = connect();
    accept(pod);
    expect(await limits()).toEqual({ a: 1, b: 1 });
    await want({ ...A, requestsPerUnit: 2 }, B);
    expect(await limits()).toEqual({ a: 1, b: 1 });
    accept(pod);
    expect(await limits()).toEqual({ a: 2, b: 1 });
  });

  it("keeps the form that every pod accepts while one NACKs the present one, and when all have left", async () => {
    const [current, old] = [connect(), connect()];
    accept(current);
    accept(old);
    expect(await limits()).toEqual({ a: 1, b: 1 });
    await want({ ...A, requestsPerUnit: 2 }, B);
    accept(current);
    const digest = publisher.snapshotFor("core")?.get("default/a")?.digest ?? "";
    old.rejected(
      "2",
      "default/a: no",
      new Map([["default/a", { digests: new Set([digest]), sinceMs: 0, message: "no" }]]),
    );
    expect(await limits()).toEqual({ a: 1, b: 1 });
    current.left();
    old.left();
    publisher.changed();
    await keeper.stop();
    expect(await limits()).toEqual({ a: 1, b: 1 });
  });

  it("keeps the form from before when a resource becomes invalid, and forgets a deleted one", async () => {
    await limits();
    const [good] = state.resources;
    if (good === undefined) throw new Error("No resource");
    await wantState({ resources: [{ ...good, isLastGood: true }], refusals: [] });
    expect(await limits()).toEqual({ a: 1 });
  });

  it("keeps everything while an empty set is held back, and what the process before kept", async () => {
    await limits();
    await want();
    expect(await limits()).toEqual({ a: 1, b: 1 });
    connect();
    const [present, before] = [
      stateOfManifests({ ...A, requestsPerUnit: 9 }),
      stateOfManifests({ ...A, requestsPerUnit: 3 }),
    ];
    const [resource, lastGood] = [present.resources[0], before.resources[0]?.resource];
    if (resource === undefined || lastGood === undefined) throw new Error("No resource");
    await keeper.stop();
    startKeeper();
    await wantState({ resources: [{ ...resource, lastGood }], refusals: [] });
    expect(await limits()).toEqual({ a: 3 });
  });
});
