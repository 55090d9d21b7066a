import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";
import { describe, expect, it, vi } from "vitest";

import { LeaderWriter } from "./leader-writer.ts";

const KIND: ApiKind = { group: "", version: "v1", plural: "configmaps" };
const OBJECT = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "team" } };

/** The names of the writes that were sent, and a writer that has `remainingMs` of its Lease. */
function writerWith(remainingMs: number): { readonly sent: string[]; readonly writer: LeaderWriter } {
  const sent: string[] = [];
  const stored = { name: "a", namespace: "team", uid: "u", resourceVersion: "1", generation: 1, content: {} };
  const send = <T>(name: string, answer: T): Promise<T> => {
    sent.push(name);
    return Promise.resolve(answer);
  };
  const objects: ObjectWriter = {
    apply: () => send("apply", stored),
    create: () => send("create", stored),
    update: () => send("update", stored),
    delete: () => send("delete", true),
  };
  const leadership = { remainingMs: () => remainingMs };
  return { sent, writer: new LeaderWriter({ objects, leadership }, { writeMaxMs: 5000 }) };
}

async function writeAll(writer: LeaderWriter): Promise<readonly string[]> {
  const { signal } = new AbortController();
  const results = await Promise.allSettled([
    writer.apply(KIND, OBJECT, { fieldManager: "test" }, signal),
    writer.create(KIND, OBJECT, {}, signal),
    writer.update(KIND, OBJECT, {}, signal),
    writer.delete(KIND, OBJECT.metadata, {}, signal),
  ]);
  return results.map((result) => (result.status === "fulfilled" ? "done" : (result.reason as Error).message));
}

describe("LeaderWriter", () => {
  it("writes when the Lease lasts longer than a write may take", async () => {
    const { sent, writer } = writerWith(5001);
    expect(await writeAll(writer)).toEqual(["done", "done", "done", "done"]);
    expect(sent).toEqual(["apply", "create", "update", "delete"]);
  });

  it.each([
    { remainingMs: 5000, message: "Cannot write: the Lease is this replica's for 5000 ms only" },
    { remainingMs: -7, message: "Cannot write: the Lease is this replica's for 0 ms only" },
  ])(
    "sends nothing and throws LeaseLost when $remainingMs ms of the Lease remain",
    async ({ remainingMs, message }) => {
      const { sent, writer } = writerWith(remainingMs);
      expect(await writeAll(writer)).toEqual([message, message, message, message]);
      expect(sent).toEqual([]);
    },
  );

  it("gives a write up that takes too long, and leaves no timer of one that does not", async () => {
    vi.useFakeTimers();
    try {
      const signals: AbortSignal[] = [];
      const apply: ObjectWriter["apply"] = (_kind, _object, _options, signal) => {
        signals.push(signal);
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
        );
      };
      const objects = { apply } as unknown as ObjectWriter;
      const writer = new LeaderWriter({ objects, leadership: { remainingMs: () => 5001 } }, { writeMaxMs: 5000 });
      const result = writer.apply(KIND, OBJECT, { fieldManager: "test" }, new AbortController().signal).catch(String);
      vi.advanceTimersByTime(4999);
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
      vi.advanceTimersByTime(1);
      expect(await result).toBe("TimeoutError: The write took too long");
      await writeAll(writerWith(5001).writer);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
