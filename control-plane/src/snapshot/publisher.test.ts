// Tests of publisher.ts and publication-log.ts: a source in the hands of the test, a clock that it
// moves, what the log says, and what pods get. Case numbers are those of the protocol's test list.
import { ServiceError } from "@weir/common/errors/service-error";
import { createLog } from "@weir/common/log/log";
import { namesOf } from "@weir/harness/ads/pod-end";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { FakeAdsStream } from "../ads/stream/fake-ads-stream.suite.ts";
import { manifest, type ManifestText, stateOf } from "../translate/manifests.suite.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import type { Source, SourceCondition, SourceState } from "../source/source.ts";
import type { IsLoaded } from "./revision-history.ts";
import { Publisher } from "./publisher.ts";
import { snapshotOf } from "./snapshots-of.suite.ts";

const OPTIONS = {
  debounceQuietMs: 100,
  debounceMaxMs: 1000,
  snapshotMaxBytes: 100_000,
  namespaceMaxBytes: 60_000,
  allowEmptyAfterMs: 10_000,
};
const A: ManifestText = { name: "a", domain: "alpha" };

/** A source that says what the test puts into it. */
class FakeSource implements Source {
  readonly name = "fake source";
  readonly location = "here";
  state: SourceState = stateOf({});
  failure: Error | undefined;
  problem: string | undefined;
  reads = 0;

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {}

  onChanged(): void {}

  condition(): SourceCondition {
    return { syncedMs: 0, problem: this.problem };
  }

  async read(): Promise<SourceState> {
    this.reads += 1;
    if (this.failure !== undefined) throw this.failure;
    return this.state;
  }
}

describe("Publisher", () => {
  let source: FakeSource;
  let publisher: Publisher;
  let lines: Record<string, unknown>[];
  let told: number;
  let observed: number;
  let pods: PodRegistry;
  /** Returns true if pods have loaded a revision. */
  let isLoaded: IsLoaded;
  /** Names and attributes of the spans that have ended. */
  let spans: (readonly [string, Readonly<Record<string, unknown>>])[];

  function recordSpan(name: string) {
    const attributes = {};
    return {
      setAttributes: (more: Readonly<Record<string, unknown>>) => Object.assign(attributes, more),
      end: () => spans.push([name, attributes]),
    };
  }

  /** The lines of the log since the last call, without time. */
  function logged(): readonly Record<string, unknown>[] {
    return lines.splice(0).map(({ "@timestamp": _time, ...rest }) => rest);
  }

  /** Puts files into the source, says so, and lets the publisher act. */
  async function change(files: Readonly<Record<string, string>>): Promise<void> {
    source.state = stateOf(files);
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
  }

  /** A pod that has asked. */
  function connect(): FakeAdsStream {
    const pod = new FakeAdsStream(publisher, { pods, clock: Date.now });
    pod.request();
    return pod;
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    lines = [];
    told = 0;
    source = new FakeSource();
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    spans = [];
    pods = new PodRegistry({ clock: Date.now });
    isLoaded = (revision) => pods.loadedRevisions()(revision);
    const tracer = { startSpan: recordSpan } as never;
    publisher = new Publisher({ log, clock: Date.now, source, loadedRevisions: () => isLoaded, tracer }, OPTIONS);
    publisher.onPublished(() => (told += 1));
    observed = 0;
    publisher.onChanged(() => (observed += 1));
  });

  afterEach(async () => {
    await publisher.stop();
    vi.useRealTimers();
  });

  it("keeps earlier revisions while an empty set is held back, for pods that NACK the present one", async () => {
    const old = { ...A, requestsPerUnit: 1 };
    source.state = stateOf({ "a.yaml": manifest(old) });
    await publisher.start();
    await change({ "a.yaml": manifest(A) });
    expect(publisher.revisionsOf("default/a")).toHaveLength(2);
    await change({});
    expect(publisher.snapshotFor("any")?.revisions).toHaveLength(1);
    expect(publisher.revisionsOf("default/a")).toHaveLength(2);
    await change({ "a.yaml": manifest(A) });
    expect(publisher.revisionsOf("default/a")).toHaveLength(2);
    await change({});
    await vi.advanceTimersByTimeAsync(OPTIONS.allowEmptyAfterMs + 1000);
    expect(publisher.snapshotFor("any")?.revisions).toEqual([]);
    expect(publisher.revisionsOf("default/a")).toEqual([]);
  });

  it("publishes what the source has when it starts, and says so", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    const version = "974030ee43ece499b7070d448d1e0586";
    expect(publisher.snapshotFor("any")?.version).toBe(version);
    expect(logged()).toEqual([
      { level: "info", "@message": "Published snapshot", version, resources: 1, bytes: 204, fleet: "*" },
    ]);
    expect(told).toBe(1);
  });

  it("reads again after the first read when something changed meanwhile, and not before", async () => {
    const starting = publisher.start();
    source.state = stateOf({ "a.yaml": manifest(A) });
    publisher.changed();
    await vi.advanceTimersByTimeAsync(0);
    await starting;
    expect(source.reads).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    expect([source.reads, publisher.snapshotFor("any")?.revisions.length]).toEqual([2, 1]);
  });

  it("reads by one at a time: a change during the first read, however long that takes, waits for its end", async () => {
    const first = Promise.withResolvers<undefined>();
    const read = source.read.bind(source);
    source.read = async () => {
      const state = await read();
      await first.promise;
      return state;
    };
    const starting = publisher.start();
    publisher.changed();
    await vi.advanceTimersByTimeAsync(5000);
    expect(source.reads).toBe(1);
    first.resolve(undefined);
    await starting;
    await vi.advanceTimersByTimeAsync(100);
    expect(source.reads).toBe(2);
  });

  it("reads once when it starts and nothing changes", async () => {
    await publisher.start();
    await vi.advanceTimersByTimeAsync(5000);
    expect(source.reads).toBe(1);
  });

  it("reports when the first change was noted that led to the active snapshot, also when the source could not be read at first", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    expect(publisher.state().changedMs).toEqual(new Map([["*", 1_000_000]]));
    await vi.advanceTimersByTimeAsync(5000);
    publisher.changed();
    await vi.advanceTimersByTimeAsync(5);
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 6 }) });
    expect([publisher.state().changedMs, publisher.state().publishedMs]).toEqual([
      new Map([["*", 1_005_000]]),
      new Map([["*", 1_005_010]]),
    ]);
    source.failure = new ServiceError("SOURCE_UNREADABLE", "Cannot read the folder x: it does not exist");
    await change({});
    source.failure = undefined;
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 7 }) });
    expect(publisher.state().changedMs).toEqual(new Map([["*", 1_005_105]]));
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 8 }) });
    expect(publisher.state().changedMs).toEqual(new Map([["*", 1_005_305]]));
  });

  it("notifies its listeners of every change, and none that has unsubscribed", async () => {
    const seen: unknown[] = [];
    const end = publisher.onChanged(() =>
      seen.push([publisher.state().sourceError, publisher.state().desired?.refusals.length]),
    );
    const endPublished = publisher.onPublished(() => seen.push("published"));
    await publisher.start();
    seen.length = 0;
    await change({ "a.yaml": manifest(A), "b.yaml": manifest({ name: "b", domain: "beta", unit: "fortnight" }) });
    expect(seen.splice(0)).toEqual(["published", [undefined, 1]]);
    source.failure = new Error("gone");
    await change({});
    source.failure = undefined;
    await change({ "a.yaml": manifest(A) });
    expect(seen.splice(0)).toEqual([
      ["gone", 1],
      [undefined, 1],
      // Also without another snapshot: earlier revisions may be other ones.
      "published",
      [undefined, 0],
    ]);
    end();
    endPublished();
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 6 }) });
    expect(seen).toEqual([]);
  });

  it("reports that the source can be read again when it says what it said before", async () => {
    await publisher.start();
    source.failure = new Error("gone");
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    source.failure = undefined;
    observed = 0;
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    expect([publisher.state().sourceError, observed]).toEqual([undefined, 1]);
  });

  it("records a span for each look at the source, with what it found, also when the source cannot be read", async () => {
    await publisher.start();
    await change({ "a.yaml": manifest(A), "b.yaml": manifest({ name: "b", domain: "beta", unit: "fortnight" }) });
    source.failure = new Error("gone");
    await change({});
    expect(spans).toEqual([
      ["publish", { "weir.resources": 1, "weir.refusals": 1 }],
      ["publish", { "weir.resources": 1, "weir.refusals": 1 }],
    ]);
  });

  it("does nothing any more once it has stopped, and has not stopped before the look that continues has ended", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    await change({}); // Held back: it would be published in ten seconds.
    const reading = Promise.withResolvers<SourceState>();
    let reads = 0;
    source.read = () => {
      reads += 1;
      return reading.promise;
    };
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    let isStopped = false;
    const stopping = publisher.stop().then(() => (isStopped = true));
    await vi.advanceTimersByTimeAsync(10);
    expect(isStopped).toBe(false);
    reading.resolve(stateOf({}));
    await stopping;
    publisher.changed();
    observed = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([publisher.snapshotFor("any")?.revisions.length, reads, observed, vi.getTimerCount()]).toEqual([1, 1, 0, 0]);
  });

  it("fails to start when the source cannot be read", async () => {
    source.failure = new ServiceError("SOURCE_UNREADABLE", "Cannot read the folder x: it does not exist");
    await expect(publisher.start()).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
  });

  it("reads once and tells once when many changes come together", async () => {
    await publisher.start();
    told = 0;
    for (let count = 0; count < 200; count += 1) publisher.changed();
    await change({ "a.yaml": manifest(A) });
    expect([source.reads, told]).toEqual([2, 1]);
  });

  it("keeps the snapshot when the content is the same, and logs nothing", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    const before = publisher.snapshotFor("any");
    logged();
    await change({ "a.yaml": `# comment\n${manifest(A)}` });
    expect([source.reads, publisher.snapshotFor("any") === before, logged()]).toEqual([2, true, []]);
    expect(publisher.state().publishedMs).toEqual(new Map([["*", 1_000_000]]));
  });

  it("notifies no listener when the source has the same state as before", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    expect([source.reads, told, observed]).toEqual([2, 1, 1]);
  });

  it("names file, line, field and message once when a manifest is refused, and says when all are good again", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    const broken = { "a.yaml": manifest(A), "b.yaml": manifest({ name: "b", domain: "beta", unit: "fortnight" }) };
    await change(broken);
    await change({ ...broken });
    expect(logged()).toEqual([
      {
        level: "warning",
        "@message": "Rejected a manifest",
        file: "b.yaml",
        line: 10,
        column: 15,
        field: "spec.descriptors[0].rateLimit.unit",
        message: 'must be one of "second", "minute", "hour", "day", "week", "month", "year", is "fortnight"',
        reason: "InvalidSpec",
        resource: "default/b",
      },
    ]);
    await change({ "a.yaml": manifest(A) });
    expect(logged()).toEqual([{ level: "info", "@message": "All manifests are valid again", resources: 1 }]);
  });

  it("names no line of an object of a cluster, which has none", async () => {
    await publisher.start();
    logged();
    const { resources, refusals } = stateOf({ "a.yaml": manifest({ ...A, unit: "fortnight" }) });
    const place = { file: "ratelimitconfigs/default/a", line: 0, column: 0 };
    source.state = { resources, refusals: refusals.map((refusal) => ({ ...refusal, place })) };
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    const [line] = logged();
    expect(line).toMatchObject({ file: "ratelimitconfigs/default/a" });
    expect(Object.keys(line ?? {})).not.toContain("line");
  });

  it("says that the last good resources stay when they do", async () => {
    await publisher.start();
    logged();
    const { resources, refusals } = stateOf({ "a.yaml": manifest({ ...A, unit: "fortnight" }) });
    source.state = { resources, refusals: refusals.map((refusal) => ({ ...refusal, keepsLastGood: true })) };
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    expect(logged()).toMatchObject([{ "@message": "Rejected a manifest, its last good resources stay active" }]);
  });

  it("keeps the active snapshot and says so once when the source cannot be read, and continues when it can", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    source.failure = new ServiceError("SOURCE_UNREADABLE", "Cannot read the folder x: it does not exist");
    await change({});
    await change({});
    expect([publisher.snapshotFor("any")?.revisions.length, publisher.state().sourceError]).toEqual([
      1,
      "Cannot read the folder x: it does not exist",
    ]);
    expect(logged()).toEqual([
      {
        level: "error",
        "@message": "Cannot read the source, what was read before stays active",
        error: "Cannot read the folder x: it does not exist",
      },
    ]);
    source.failure = undefined;
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 6 }) });
    expect(publisher.state().sourceError).toBeUndefined();
    expect(logged().map((line) => line["@message"])).toEqual(["The source can be read again", "Published snapshot"]);
  });

  it("publishes that nothing is left only when it stays so, by itself", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    await change({});
    expect(publisher.snapshotFor("any")?.revisions.length).toBe(1);
    expect(logged()).toMatchObject([
      {
        level: "warning",
        "@message": "No resource is left, the empty snapshot is published if that lasts",
        waitMs: 10_000,
      },
    ]);
    observed = 0;
    await vi.advanceTimersByTimeAsync(9909); // 90 ms have passed since the empty set was read.
    expect([publisher.snapshotFor("any")?.revisions.length, observed]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(publisher.snapshotFor("any")?.revisions.length).toBe(0);
    expect(logged()).toMatchObject([{ "@message": "Published snapshot", resources: 0 }]);
    expect(observed).toBe(1);
  });

  it("counts only the time in which the source can be read until it publishes that nothing is left", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    await change({});
    await vi.advanceTimersByTimeAsync(4000);
    source.problem = "the API server is away";
    await vi.advanceTimersByTimeAsync(3_600_000);
    // Publishing for another reason does not end the wait either.
    await change({ "b.yaml": "kind: RateLimitConfig" });
    expect(publisher.snapshotFor("any")?.revisions.length).toBe(1);
    source.problem = undefined;
    await vi.advanceTimersByTimeAsync(5000);
    expect(publisher.snapshotFor("any")?.revisions.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(publisher.snapshotFor("any")?.revisions.length).toBe(0);
  });

  it("says that nothing is held back any more when the resources come back during the wait", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    const before = publisher.snapshotFor("any");
    await change({});
    logged();
    await change({ "a.yaml": manifest(A) });
    expect(logged()).toEqual([
      {
        level: "info",
        "@message": "The active snapshot is the wanted one again, nothing is held back",
        fleet: "*",
        version: "974030ee43ece499b7070d448d1e0586",
      },
    ]);
    expect(publisher.snapshotFor("any")).toBe(before);
  });

  it("does not say that all is well when the state that cannot be translated is the same at the next look", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    const [resource] = stateOf({ "b.yaml": manifest({ name: "b", domain: "beta" }) }).resources;
    if (resource === undefined) throw new Error("no resource");
    const unusable = { ...resource, resource: { ...resource.resource, spec: undefined as never } };
    source.state = { resources: [unusable], refusals: [] };
    for (let look = 0; look < 2; look += 1) {
      publisher.changed();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(logged().map((line) => line["@message"])).toEqual([
      "Cannot read the source, what was read before stays active",
    ]);
    expect([publisher.state().sourceError === undefined, publisher.snapshotFor("any")?.revisions.length]).toEqual([
      false,
      1,
    ]);
  });

  it("case A13: leaves out a resource that does not fit, publishes the others' edits, and logs it once, and when it fits", async () => {
    const large = (largeRules: number): string => manifest({ name: "b", domain: "beta", largeRules });
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 6 }), "b.yaml": large(90) });
    expect(publisher.snapshotFor("any")?.revisions.map(({ name }) => name)).toEqual(["default/a"]);
    expect(logged()).toMatchObject([
      {
        level: "error",
        "@message": "A resource is too large, it is not served",
        resource: "default/b",
        message: expect.stringMatching(
          /^with it the resources of namespace default have \d+ bytes in fleet \*, more than SNAPSHOT_NAMESPACE_MAX_BYTES, which is 60000$/,
        ) as unknown,
      },
      { "@message": "Published snapshot", resources: 1 },
    ]);
    expect(publisher.state().admission?.waiting.map(({ resource }) => resource.key)).toEqual(["default/b"]);
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 7 }), "b.yaml": large(91) });
    expect(logged().map((line) => line["@message"])).toEqual(["Published snapshot"]);
    await change({ "a.yaml": manifest({ ...A, requestsPerUnit: 7 }), "b.yaml": large(1) });
    expect(logged()).toMatchObject([
      { level: "info", "@message": "A resource is no longer too large", resource: "default/b" },
      { "@message": "Published snapshot", resources: 2 },
    ]);
  });

  it("serves a resource that does not fit in the fleets that have it, also when others name these later", async () => {
    await publisher.start();
    await change({ "a.yaml": manifest({ ...A, fleets: ["gold"] }) });
    const before = publisher.snapshotFor("gold");
    await change({ "a.yaml": manifest({ ...A, largeRules: 200 }) });
    expect(publisher.snapshotFor("gold")).toBe(before);
    const later = manifest({ name: "b", domain: "beta", fleets: ["gold"] });
    await change({ "a.yaml": manifest({ ...A, largeRules: 200 }), "b.yaml": later });
    expect(publisher.snapshotFor("gold")?.revisions.map(({ name }) => name)).toEqual(["default/a", "default/b"]);
    expect(publisher.snapshotFor("gold")?.get("default/a")).toBe(before?.get("default/a"));
  });

  it("keeps the published revision of a resource that has grown too large, and its current revision for reports", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    const before = publisher.snapshotFor("any");
    logged();
    await change({ "a.yaml": manifest({ ...A, largeRules: 200 }) });
    expect(publisher.snapshotFor("any")).toBe(before);
    expect(publisher.state().currentRevision("default/a")?.digest).not.toBe(before?.get("default/a")?.digest);
    expect(publisher.revisionsOf("default/a")).toEqual(before?.revisions);
    expect(logged()).toMatchObject([
      {
        level: "error",
        "@message": "A resource is too large, its earlier revision stays active",
        resource: "default/a",
        message: expect.stringContaining("more than SNAPSHOT_MAX_BYTES, which is 100000") as unknown,
      },
    ]);
  });

  it("serves of a namespace what fits into its share, at the start and later", async () => {
    const text = (name: string): string => manifest({ name, domain: name, largeRules: 35 });
    source.state = stateOf({ "a.yaml": text("a"), "b.yaml": text("b") });
    await publisher.start();
    expect(publisher.snapshotFor("any")?.revisions.map(({ name }) => name)).toEqual(["default/a"]);
    expect(logged()).toMatchObject([
      { "@message": "A resource is too large, it is not served", resource: "default/b" },
      { "@message": "Published snapshot", resources: 1 },
    ]);
    await change({ "a.yaml": text("a"), "b.yaml": text("b"), "c.yaml": manifest({ name: "c", domain: "c" }) });
    expect(publisher.snapshotFor("any")?.revisions.map(({ name }) => name)).toEqual(["default/a", "default/c"]);
  });

  it("keeps the revision that was published before, and earlier ones that pods had loaded", async () => {
    const limits = (name: string): readonly unknown[] =>
      publisher.revisionsOf(name).map(({ digest }) => known.get(digest));
    /** Limit by digest. */
    const known = new Map<string, number>();
    const edit = async (requestsPerUnit: number): Promise<void> => {
      await change({ "a.yaml": manifest({ ...A, requestsPerUnit }) });
      known.set(publisher.snapshotFor("any")?.get("default/a")?.digest ?? "", requestsPerUnit);
    };
    await publisher.start();
    await edit(1);
    expect(limits("default/a")).toEqual([1]);
    await edit(2);
    await edit(3);
    expect(limits("default/a")).toEqual([3, 2]);
    const first = [...known].find(([, limit]) => limit === 2)?.[0];
    isLoaded = ({ digest }) => digest === first;
    await edit(4);
    expect(limits("default/a")).toEqual([4, 3, 2]);
    isLoaded = () => false;
    await edit(5);
    await edit(6);
    expect(limits("default/a")).toEqual([6, 5, 2]);
    await change({ "b.yaml": manifest({ name: "b", domain: "beta" }) });
    expect(limits("default/a")).toEqual([]);
  });

  it("keeps a revision that the source hands over, of a published resource", async () => {
    const state = stateOf({ "a.yaml": manifest(A) });
    const [lastGood] = stateOf({ "a.yaml": manifest({ ...A, requestsPerUnit: 9 }) }).resources;
    if (lastGood === undefined) throw new Error("no resource");
    source.state = {
      ...state,
      resources: state.resources.map((resource) => ({ ...resource, lastGood: [lastGood.resource] })),
    };
    await publisher.start();
    const [published, other, ...more] = publisher.revisionsOf("default/a");
    expect([published?.digest, more]).toEqual([publisher.snapshotFor("any")?.get("default/a")?.digest, []]);
    expect(other?.digest).toBe(snapshotOf({ ...A, requestsPerUnit: 9 }).get("default/a")?.digest);
  });

  it("reports of a fleet that is named for the first time, also when it continues being sent what all others are", async () => {
    source.state = stateOf({ "a.yaml": manifest(A) });
    await publisher.start();
    logged();
    await change({
      "a.yaml": manifest(A),
      "g.yaml": manifest({ name: "g", domain: "gold", fleets: ["gold"], largeRules: 200 }),
    });
    expect(logged()).toMatchObject([
      { "@message": "A resource is too large, it is not served", resource: "default/g" },
      { "@message": "Published snapshot", fleet: "gold", version: "974030ee43ece499b7070d448d1e0586" },
    ]);
    publisher.changed();
    await vi.advanceTimersByTimeAsync(100);
    expect(logged()).toEqual([]);
  });

  it("reports pods of a fleet when it joins the others", async () => {
    const gold = manifest({ name: "g", domain: "gold", fleets: ["gold"] });
    source.state = stateOf({ "a.yaml": manifest(A), "g.yaml": gold });
    await publisher.start();
    expect(publisher.snapshotFor("gold")?.revisions.length).toBe(2);
    logged();
    await change({ "a.yaml": manifest(A) });
    expect(logged()).toEqual([
      {
        level: "info",
        "@message": "No resource names this fleet any more, it gets the snapshot of all other fleets",
        fleet: "gold",
        version: "974030ee43ece499b7070d448d1e0586",
      },
    ]);
    expect([publisher.snapshotFor("gold")?.revisions.length, told]).toEqual([1, 2]);
    expect([...publisher.state().publishedMs.keys()]).toEqual(["*"]);
  });

  it("case A5: sends a pod three, two and no resources when one changes, one is deleted and then the last ones, these when it stayed so", async () => {
    const [b, c] = ["b", "c"].map((name) => manifest({ name, domain: name })) as [string, string];
    const changed = manifest({ ...A, requestsPerUnit: 6 });
    source.state = stateOf({ "a.yaml": manifest(A), "b.yaml": b, "c.yaml": c });
    await publisher.start();
    const pod = connect();
    for (const files of [{ "a.yaml": changed, "b.yaml": b, "c.yaml": c }, { "a.yaml": changed, "b.yaml": b }, {}]) {
      pod.accept();
      await change(files);
    }
    const counts = (): readonly number[] => pod.responses.map((response) => namesOf(response).length);
    await vi.advanceTimersByTimeAsync(9909); // 90 ms have passed since the empty set was read.
    expect(counts()).toEqual([3, 3, 2]);
    await vi.advanceTimersByTimeAsync(1);
    expect(counts()).toEqual([3, 3, 2, 0]);
  });

  it("sends a pod that NACKs all newer revisions one that another pod had loaded, also when that has left", async () => {
    const edit = async (requestsPerUnit: number): Promise<void> =>
      change({ "a.yaml": manifest({ ...A, requestsPerUnit }), "b.yaml": manifest({ name: "b", domain: "beta" }) });
    await publisher.start();
    await edit(1);
    const old = connect();
    const version = old.last.versionInfo;
    old.accept();
    for (const limit of [2, 3, 4]) await edit(limit);
    const picky = connect();
    for (const _revision of [4, 3]) picky.reject("default/a: no");
    expect([picky.responses.length, picky.last.versionInfo]).toEqual([3, version]);
    old.close();
    await edit(5);
    const later = connect();
    for (const _revision of [5, 4]) later.reject("default/a: no");
    expect(later.last.versionInfo).toBe(version);
    later.reject("default/a: no");
    expect(namesOf(later.last)).toEqual(["default/b"]);
  });
});
