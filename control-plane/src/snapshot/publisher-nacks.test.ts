// Tests of publisher.ts and publication-log.ts together with the quarantine: the active snapshot and
// what the log says when pods reject. Also what deletions lead to at a stream, under a clock that
// the test moves. Case numbers are those of the protocol's test list.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { FakeAdsStream, namesOf, type SnapshotsOfTest } from "../ads/stream/fake-ads-stream.suite.ts";
import { SendSemaphore } from "../ads/stream/send-semaphore.ts";
import { type ManifestText, stateOfManifests } from "../assemble/manifests.suite.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { NackPolicy } from "../pods/nack-policy.ts";
import type { SourceState } from "../source/source.ts";
import { Publisher } from "./publisher.ts";

const OPTIONS = { debounceQuietMs: 100, debounceMaxMs: 1000, snapshotMaxBytes: 100_000, allowEmptyAfterMs: 10_000 };
const A: ManifestText = { name: "a", domain: "alpha" };
const B: ManifestText = { name: "b", domain: "beta" };
const C: ManifestText = { name: "c", domain: "gamma" };

describe("Publisher with pods that answer", () => {
  let state: SourceState;
  let publisher: Publisher;
  let nackPolicy: NackPolicy;
  let lines: Record<string, unknown>[];
  let pod: FakeAdsStream;

  /** What the log said since the last call, in short. */
  function logged(): readonly unknown[] {
    return lines
      .splice(0)
      .map((line) => [line["level"], line["@message"], line["resource"] ?? line["text"] ?? line["resources"]]);
  }

  /** A pod that has asked. */
  function connect(): FakeAdsStream {
    const snapshots: SnapshotsOfTest = {
      semaphore: new SendSemaphore(),
      snapshotFor: (fleet) => publisher.snapshotFor(fleet),
      join: (stream) => publisher.onPublished(() => stream.published()),
    };
    const connected = new FakeAdsStream(snapshots, new PodRegistry({ clock: Date.now }), nackPolicy);
    connected.request();
    return connected;
  }

  async function want(...manifests: readonly ManifestText[]): Promise<void> {
    state = stateOfManifests(...manifests);
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
  }

  beforeEach(async () => {
    vi.useFakeTimers({ now: 1_000_000 });
    lines = [];
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    nackPolicy = new NackPolicy({ clock: Date.now }, OPTIONS);
    publisher = new Publisher({ log, clock: Date.now, nackFilter: nackPolicy }, OPTIONS);
    state = stateOfManifests(A, B, C);
    publisher.use({
      name: "source of the test",
      location: "here",
      start: () => Promise.resolve(),
      stop: () => undefined,
      condition: () => ({ syncedMs: 0, problem: undefined }),
      read: () => Promise.resolve(state),
    });
    await publisher.start();
    pod = connect();
    pod.accept();
    logged();
  });

  afterEach(async () => {
    await publisher.stop();
    vi.useRealTimers();
  });

  it("case A5: sends three, two and no resources when one changes, one is deleted and then the last ones, these when it stayed so", async () => {
    await want({ ...A, requestsPerUnit: 6 }, B, C);
    pod.accept();
    await want({ ...A, requestsPerUnit: 6 }, B);
    pod.accept();
    await want();
    await vi.advanceTimersByTimeAsync(9999);
    expect(pod.responses.map((response) => namesOf(response).length)).toEqual([3, 3, 2]);
    await vi.advanceTimersByTimeAsync(1);
    expect(pod.responses.map((response) => namesOf(response).length)).toEqual([3, 3, 2, 0]);
  });

  it("puts the rest active immediately, without collecting, and reports when a resource is quarantined and when it no longer is", async () => {
    await want({ ...A, requestsPerUnit: 6 }, { ...B, requestsPerUnit: 6 }, C);
    logged();
    pod.reject("default/a: no");
    expect(pod.responses).toHaveLength(3);
    expect(logged()).toEqual([
      ["error", "Quarantined a resource that pods NACK, its last ACKed form is active", "default/a"],
      ["info", "Published snapshot", 3],
    ]);
    expect(publisher.state().nacks.resources).toEqual([
      {
        fleet: "",
        resource: "default/a",
        sinceMs: 1_000_100,
        message: "default/a: no",
        serves: "last-good",
        nackingPods: 1,
      },
    ]);
    pod.accept();
    expect(logged()).toEqual([]); // It still is.
    await want({ ...A, requestsPerUnit: 7 }, { ...B, requestsPerUnit: 6 }, C);
    expect(logged()).toEqual([
      ["info", "Ended the quarantine of a resource", "default/a"],
      ["info", "Published snapshot", 3],
    ]);
  });

  it("says nothing of a quarantine when another pod has accepted what one rejects", async () => {
    await want({ ...A, requestsPerUnit: 6 }, B, C);
    pod.accept();
    logged();
    const other = connect();
    other.reject("default/a: no");
    expect([logged(), publisher.state().nacks.resources.map(({ serves }) => serves)]).toEqual([[], ["present"]]);
  });

  it("says that a resource is left out when there is no form that a pod accepted", async () => {
    await want(A, B, C, { name: "d", domain: "delta" });
    logged();
    pod.reject("default/d: no");
    expect(logged()[0]).toEqual(["error", "Quarantined a resource that pods NACK, it is left out", "default/d"]);
  });

  it("case A10: says that it restores what was accepted last, once, and tells of the version that was rejected", async () => {
    const accepted = publisher.snapshotFor("any")?.version;
    await want({ ...A, requestsPerUnit: 6 }, B, C);
    const rejected = publisher.snapshotFor("any")?.version;
    logged();
    pod.reject("out of memory");
    pod.accept();
    expect([publisher.snapshotFor("any")?.version, pod.last.versionInfo]).toEqual([accepted, accepted]);
    expect(logged()).toEqual([
      ["info", "Published snapshot", 3],
      ["error", "Pods NACKed the snapshot and named no resource, the last ACKed one is active again", "out of memory"],
    ]);
    expect(publisher.state().nacks.versions).toMatchObject([{ fleet: "", version: rejected, restored: accepted }]);
  });

  it("holds back for a while that nothing is left when pods reject the only resource", async () => {
    await want({ ...A, requestsPerUnit: 6 });
    pod.accept();
    await want({ name: "only", domain: "only" });
    pod.reject("default/only: no");
    expect(publisher.state().publication.get("")?.hold).toEqual({
      kind: "empty",
      sinceMs: 1_000_200,
      untilMs: 1_010_200,
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(namesOf(pod.last)).toEqual([]);
  });
});
