// Tests of event-recorder.ts against a writer that keeps events as the API server does.
import { silentLog } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { beforeEach, describe, expect, it } from "vitest";

import { type EventObject, EventRecorder, EVENTS, type EventText } from "./event-recorder.ts";

const MAIL: EventObject = {
  apiVersion: "ratelimit.weir.dev/v1alpha1",
  kind: "RateLimitConfig",
  namespace: "shop",
  name: "mail",
  uid: "u1",
};
const INVALID: EventText = { type: "Warning", reason: "InvalidSpec", action: "Validate", note: "spec.domain: no" };
const START_MS = Date.UTC(2026, 0, 31, 12);

describe("EventRecorder", () => {
  let nowMs: number;
  let stored: Map<string, WrittenObject>;
  let failure: ApiFailure | undefined;
  let release: Promise<void> | undefined;
  let recorder: EventRecorder;

  beforeEach(() => {
    nowMs = START_MS;
    stored = new Map();
    failure = undefined;
    release = undefined;
    const apply = async (_kind: unknown, event: WrittenObject) => {
      await release;
      if (failure !== undefined) throw failure;
      const before = stored.get(event.metadata.name);
      // Everything but the series is immutable.
      if (before !== undefined) expect({ ...event, series: undefined }).toEqual({ ...before, series: undefined });
      stored.set(event.metadata.name, event);
      return { name: event.metadata.name, namespace: "", uid: "", resourceVersion: "", generation: 1, content: {} };
    };
    const clock = (): number => nowMs;
    const deps = { log: silentLog(), clock, monotonicMs: clock, objects: { apply }, instance: "pod-1" };
    recorder = new EventRecorder(deps);
  });

  /** Resolves when what was recorded is written: recording is in turns of the event loop, without timers. */
  async function written(): Promise<readonly WrittenObject[]> {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    return [...stored.values()];
  }

  it.each(["a", "é", "😀"])("cuts a note of many %s to the bytes that the API server takes", async (character) => {
    recorder.record(MAIL, { ...INVALID, note: `x${character.repeat(2000)}` });
    const [event] = await written();
    const note = String(event?.["note"]);
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
    expect(note.endsWith(`${character}…`)).toBe(true);
  });

  it("writes what is recorded in the moment when the last write has ended", async () => {
    const again: EventText = { ...INVALID, reason: "DomainConflict" };
    for (let turns = 0; turns < 12; turns += 1) {
      stored.clear();
      recorder.record(MAIL, { ...INVALID, reason: `Reason${turns}` });
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      recorder.record(MAIL, { ...again, reason: `After${turns}` });
      expect(await written()).toHaveLength(2);
    }
  });

  it("writes an event as events.k8s.io/v1 wants it", async () => {
    recorder.record(MAIL, INVALID);
    expect(await written()).toEqual([
      {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: expect.stringMatching(/^mail\.[0-9a-f]{16}$/) as string, namespace: "shop" },
        eventTime: "2026-01-31T12:00:00.000000Z",
        reportingController: "ratelimit.weir.dev/operator",
        reportingInstance: "pod-1",
        regarding: MAIL,
        ...INVALID,
      },
    ]);
  });

  it("counts repeats within six minutes in one object, whatever their notes are", async () => {
    recorder.record(MAIL, INVALID);
    await written();
    nowMs += 5 * 60_000;
    recorder.record(MAIL, { ...INVALID, note: "spec.domain: still no" });
    expect(await written()).toMatchObject([
      { note: "spec.domain: no", series: { count: 2, lastObservedTime: "2026-01-31T12:05:00.000000Z" } },
    ]);
    nowMs += 6 * 60_000;
    recorder.record(MAIL, INVALID);
    expect(await written()).toHaveLength(2);
  });

  it("keeps events of other objects and reasons apart", async () => {
    recorder.record(MAIL, INVALID);
    recorder.record(MAIL, { ...INVALID, reason: "DomainConflict" });
    recorder.record({ ...MAIL, uid: "u2" }, INVALID);
    expect(await written()).toHaveLength(3);
  });

  it("neither waits nor fails, and writes the latest of a series", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    release = promise;
    recorder.record({ ...MAIL, name: "blocks" }, INVALID);
    for (let count = 0; count < 5; count += 1) recorder.record(MAIL, INVALID);
    resolve();
    expect(await written()).toMatchObject([{ regarding: { name: "blocks" } }, { series: { count: 5 } }]);
    failure = new ApiFailure("refused", { verb: "patch", resource: resourceOf(EVENTS, "shop") }, "forbidden");
    recorder.record(MAIL, { ...INVALID, reason: "Other" });
    expect(await written()).toHaveLength(2);
  });

  it("records nothing after its stop", async () => {
    await recorder.stop();
    recorder.record(MAIL, INVALID);
    expect(await written()).toEqual([]);
  });
});
