// The behaviour of every source: it reports and reads what changes. Only tests import it.
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "../translate/manifests.suite.ts";
import type { Source, SourceState } from "./source.ts";
import { resourceKey } from "./source.ts";

/** The folder or cluster of a source under test. */
export interface SourceFixture {
  /** Creates or replaces the document of this name: a file or an object. */
  write(name: string, text: string): void | Promise<void>;
  remove(name: string): void | Promise<void>;
  /** A source over the folder or cluster, not started. */
  open(): Source;
  close(): void | Promise<void>;
}

/** A started source with the state that it returned last. */
export interface WatchedSource {
  readonly source: Source;
  /** How often the source has reported a change. */
  calls(): number;
  /** Resolves with the state when the condition holds. */
  until(what: string, condition: (state: SourceState) => boolean): Promise<SourceState>;
}

/** Starts a source and reads it whenever it reports a change, as the publisher does. */
export async function watchSource(fixture: SourceFixture): Promise<WatchedSource> {
  let calls = 0;
  const source = fixture.open();
  source.onChanged(() => (calls += 1));
  await source.start();
  let seen = calls;
  let state = await source.read();
  return {
    source,
    calls: () => calls,
    until: async (what, condition) => {
      await eventually(what, async () => {
        // Reads only after a report: a change that the source does not notice is never seen.
        if (seen !== calls) {
          seen = calls;
          state = await source.read();
        }
        if (!condition(state)) throw new Error(`there is ${keysOf(state).join(", ")}`);
      });
      return state;
    },
  };
}

/** The names of the resources of a state. */
export function keysOf(state: SourceState): readonly string[] {
  return state.resources.map(resourceKey);
}

/** The limit of a resource with one rule; undefined when it is not there. */
export function limitOf(state: SourceState, key: string): number | undefined {
  const found = state.resources.find((resource) => resourceKey(resource) === key);
  return found?.resource.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit;
}

/** Runs the behaviour of a source over one implementation. */
export function describeSource(
  implementation: string,
  openFixture: () => SourceFixture | Promise<SourceFixture>,
): void {
  describe(`Source, ${implementation}`, () => {
    let fixture: SourceFixture;
    let watched: WatchedSource;

    beforeEach(async () => {
      fixture = await openFixture();
      await fixture.write("a.yaml", manifest({ name: "a", domain: "alpha" }));
      watched = await watchSource(fixture);
    });

    afterEach(async () => {
      await watched.source.stop();
      await fixture.close();
    });

    it("reads the resources at the start, with namespace and location", async () => {
      const [resource] = (await watched.source.read()).resources;
      expect(resource).toMatchObject({ namespace: "default", name: "a", isLastGood: false });
      expect(resource?.place.file).toMatch(/a/);
      expect(resource?.resource.spec.domain).toBe("alpha");
    });

    it("has a condition without a problem when it has been read", async () => {
      const { syncedMs, problem } = watched.source.condition();
      expect(problem).toBeUndefined();
      expect(syncedMs).toBeGreaterThan(0);
    });

    it("keeps resources of the same name in different namespaces apart", async () => {
      await fixture.write("b.yaml", manifest({ name: "a", domain: "beta", namespace: "team" }));
      expect(keysOf(await watched.until("team/a", (now) => now.resources.length === 2)).toSorted()).toEqual([
        "default/a",
        "team/a",
      ]);
    });

    it("returns the same object when nothing has changed", async () => {
      const before = await watched.source.read();
      expect(await watched.source.read()).toBe(before);
    });

    it("reports no change while nothing changes, however often it is read", async () => {
      // Events of the start may still arrive; events that reading itself causes would never end.
      await eventually("silence", async () => {
        const before = watched.calls();
        for (let read = 0; read < 3; read += 1) await watched.source.read();
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(watched.calls()).toBe(before);
      });
    });

    it("reports a resource that is created, changed and deleted", async () => {
      await fixture.write("b.yaml", manifest({ name: "b", domain: "beta" }));
      await watched.until("b comes", (state) => keysOf(state).includes("default/b"));
      await fixture.write("b.yaml", manifest({ name: "b", domain: "beta", requestsPerUnit: 7 }));
      await watched.until("b changes", (state) => limitOf(state, "default/b") === 7);
      await fixture.remove("b.yaml");
      expect(keysOf(await watched.until("b goes", (state) => !keysOf(state).includes("default/b")))).toEqual([
        "default/a",
      ]);
    });

    it("keeps the last good revision of a resource that becomes invalid, until it is valid again", async () => {
      await fixture.write("a.yaml", manifest({ name: "a", domain: "alpha", unit: "fortnight" }));
      const broken = await watched.until("the problem", (state) => state.refusals.length > 0);
      expect(keysOf(broken)).toEqual(["default/a"]);
      expect(broken.resources[0]).toMatchObject({ isLastGood: true, resource: { spec: { domain: "alpha" } } });
      expect(broken.refusals).toMatchObject([{ field: "spec.descriptors[0].rateLimit.unit", keepsLastGood: true }]);
      await fixture.write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 8 }));
      const right = await watched.until("the repair", (state) => limitOf(state, "default/a") === 8);
      expect([right.refusals, right.resources[0]?.isLastGood]).toEqual([[], false]);
    });

    it("drops an invalid resource when it is removed", async () => {
      await fixture.write("a.yaml", manifest({ name: "a", domain: "alpha", unit: "fortnight" }));
      await watched.until("the problem", (state) => state.refusals.length > 0);
      await fixture.remove("a.yaml");
      await watched.until("nothing", (state) => state.resources.length === 0 && state.refusals.length === 0);
    });

    it("shows the last of two hundred quick changes", async () => {
      for (let limit = 1; limit <= 200; limit += 1) {
        await fixture.write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: limit }));
      }
      await watched.until("the last change", (state) => limitOf(state, "default/a") === 200);
    });

    it("reports nothing after it has stopped", async () => {
      const other = await watchSource(fixture);
      await watched.source.stop();
      const before = watched.calls();
      await fixture.write("b.yaml", manifest({ name: "b", domain: "beta" }));
      await other.until("b", (state) => keysOf(state).includes("default/b"));
      expect(watched.calls()).toBe(before);
      await other.source.stop();
    });
  });
}
