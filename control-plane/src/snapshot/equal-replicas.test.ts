// Tests of publisher.ts: a replica that starts at any moment publishes what one publishes that has run
// from the beginning, whatever happened meanwhile.
import { silentLog } from "@weir/common/log/log";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { manifest, type ManifestText, stateOf } from "../translate/manifests.suite.ts";
import type { Source, SourceResource, SourceState } from "../source/source.ts";
import { Publisher } from "./publisher.ts";

/** A rule of a manifest has a little more than 1000 bytes: three namespaces with two rules each fit. */
const OPTIONS = {
  debounceQuietMs: 100,
  debounceMaxMs: 1000,
  snapshotMaxBytes: 6500,
  namespaceMaxBytes: 3500,
  allowEmptyAfterMs: 0,
};

/** An object of the API server, and the revision that the operator keeps of it. */
interface StoredConfig {
  readonly text: ManifestText;
  readonly uid: string;
  /** True if its current revision is one that the control plane refuses. */
  readonly isInvalid: boolean;
  revision: ManifestText | undefined;
}

/** A cluster with some objects, as each replica reads it. */
class Cluster implements Source {
  readonly name = "cluster";
  readonly location = "here";
  readonly objects = new Map<number, StoredConfig>();
  #state: SourceState = { resources: [], refusals: [] };

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {}

  onChanged(): void {}

  hasRevisions(): boolean {
    return true;
  }

  condition() {
    return { syncedMs: 0, problem: undefined };
  }

  read(): Promise<SourceState> {
    return Promise.resolve(this.#state);
  }

  changed(): void {
    const resources = Array.from(this.objects.values(), ({ text, uid, revision, isInvalid }) => {
      const known = revision === undefined ? undefined : { ...resourceOf(revision), uid };
      const lastGood = known && [known.resource];
      if (isInvalid) return known && { ...known, isLastGood: true, lastGood: [known.resource] };
      return { ...resourceOf(text), uid, ...(lastGood && { lastGood }) };
    });
    this.#state = { resources: resources.filter((each) => each !== undefined), refusals: [] };
  }
}

function resourceOf(text: ManifestText): SourceResource {
  const [resource] = stateOf({ [`${text.namespace}-${text.name}.yaml`]: manifest(text) }).resources;
  return resource!;
}

async function startReplica(cluster: Cluster): Promise<Publisher> {
  const replica = new Publisher({ log: silentLog(), clock: () => 0, source: cluster }, OPTIONS);
  await replica.start();
  return replica;
}

/** The versions that pods of each fleet are sent, and the resources that wait. */
function published(replica: Publisher): unknown {
  const { admission } = replica.state();
  return {
    versions: ["core", "edge", "other"].map((fleet) => replica.snapshotFor(fleet)?.version),
    waiting: admission?.waiting.map(({ resource, keepsEarlier }) => [resource.key, keepsEarlier]).toSorted(),
  };
}

describe("replicas", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const object = fc.nat({ max: 5 });
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("put"),
        object,
        rules: fc.nat({ max: 3 }),
        isInvalid: fc.boolean(),
        fleet: fc.constantFrom(undefined, undefined, "core", "edge"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete"), object }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("load"), object }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart") }) },
  );

  it("publish the same, whenever they were started", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const cluster = new Cluster();
        const first = await startReplica(cluster);
        let second = await startReplica(cluster);
        for (const [index, each] of steps.entries()) {
          if (each.kind === "restart") {
            await second.stop();
            second = await startReplica(cluster);
          } else change(cluster, each, { index, replica: first });
          cluster.changed();
          first.changed();
          second.changed();
          await vi.advanceTimersByTimeAsync(200);
          expect(published(second)).toEqual(published(first));
        }
        await Promise.all([first.stop(), second.stop()]);
      }),
      { seed: 1, numRuns: 150 },
    );
  });
});

interface Change {
  readonly kind: string;
  readonly object: number;
  readonly rules?: number;
  readonly isInvalid?: boolean;
  readonly fleet?: string | undefined;
}

/** Edits, creates or deletes an object; or pods have loaded it, and the operator keeps its current revision. */
function change(
  { objects }: Cluster,
  { kind, object, rules, isInvalid = false, fleet }: Change,
  { index, replica }: { readonly index: number; readonly replica: Publisher },
): void {
  const before = objects.get(object);
  if (kind === "delete") objects.delete(object);
  else if (kind === "put") {
    const created = before?.text.created ?? new Date(index * 1000).toISOString();
    const name = `limits-${object}`;
    const text = { namespace: object % 2 === 0 ? "shop" : "bank", name, domain: name, created };
    objects.set(object, {
      uid: before?.uid ?? `uid-${index}`,
      revision: before?.revision,
      isInvalid,
      text: { ...text, largeRules: rules ?? 0, requestsPerUnit: index + 1, ...(fleet && { fleets: [fleet] }) },
    });
  } else if (before?.isInvalid === false) {
    const key = `${before.text.namespace}/${before.text.name}`;
    const { admission } = replica.state();
    const isServed = admission?.waiting.every(({ resource }) => resource.key !== key) === true;
    if (isServed) before.revision = before.text;
  }
}
