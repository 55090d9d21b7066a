import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { WriteOrder } from "./write-order.ts";

const KIND: ApiKind = { group: "", version: "v1", plural: "configmaps" };
const STORED = { name: "a", namespace: "team", uid: "u", resourceVersion: "1", generation: 1, content: {} };

describe("WriteOrder", () => {
  /** The writes in the order in which they began, and what ends each. */
  let begun: string[];
  let ends: Map<string, () => void>;
  let order: WriteOrder;
  let signal: AbortSignal;

  beforeEach(() => {
    vi.useFakeTimers();
    begun = [];
    ends = new Map();
    signal = new AbortController().signal;
    const begin = (name: string): Promise<void> => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    };
    const objects = {
      apply: async (_kind: ApiKind, { metadata: { name } }: { readonly metadata: { readonly name: string } }) => {
        await begin(name);
        return STORED;
      },
      delete: async (_kind: ApiKind, { name }: { readonly name: string }) => {
        await begin(`-${name}`);
        return true;
      },
    };
    order = new WriteOrder(objects, Date.now);
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function write(lane: "first" | "later", name: string, aborted = signal): Promise<unknown> {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    return order[lane].apply(KIND, object, { fieldManager: "test" }, aborted);
  }

  /** Ends a write, whose effects follow in further turns. */
  async function end(name: string): Promise<void> {
    ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  }

  it("begins every write immediately while there is none that goes first", async () => {
    void write("later", "a");
    void order.later.delete(KIND, { name: "b" }, {}, signal);
    void write("first", "c");
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.toSorted()).toEqual(["-b", "a", "c"]);
  });

  it("lets others wait until writes that follow each other are over", async () => {
    void write("first", "s1");
    void write("first", "s2");
    void write("later", "a");
    void order.later.delete(KIND, { name: "b" }, {}, signal);
    await end("s1");
    await vi.advanceTimersByTimeAsync(200);
    void write("first", "s3");
    await end("s2");
    await end("s3");
    await vi.advanceTimersByTimeAsync(20);
    void write("first", "s4");
    await vi.advanceTimersByTimeAsync(20);
    await end("s4");
    expect(begun).toEqual(["s1", "s2", "s3", "s4"]);
    await vi.advanceTimersByTimeAsync(50);
    expect(begun).toEqual(["s1", "s2", "s3", "s4", "a", "-b"]);
  });

  it("counts a write that fails as over", async () => {
    const failing = new WriteOrder(
      { apply: () => Promise.reject(new Error("no")), delete: () => Promise.resolve(true) },
      Date.now,
    );
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    await expect(failing.first.apply(KIND, object, { fieldManager: "test" }, signal)).rejects.toThrow("no");
    const deleted = failing.later.delete(KIND, { name: "b" }, {}, signal);
    await vi.advanceTimersByTimeAsync(50);
    expect(await deleted).toBe(true);
  });

  it("lets others wait for the first five seconds of a row, and for no more of it", async () => {
    void write("first", "s1");
    void write("later", "a");
    await vi.advanceTimersByTimeAsync(4999);
    expect(begun).toEqual(["s1"]);
    await vi.advanceTimersByTimeAsync(26);
    expect(begun).toEqual(["s1", "a"]);
    void write("later", "b");
    void write("first", "s2");
    await end("s1");
    void write("later", "c");
    await vi.advanceTimersByTimeAsync(0);
    expect(begun.toSorted()).toEqual(["a", "b", "c", "s1", "s2"]);
  });

  it("lets others wait again in the next row", async () => {
    void write("first", "s1");
    await vi.advanceTimersByTimeAsync(60_000);
    await end("s1");
    await vi.advanceTimersByTimeAsync(50);
    void write("first", "s2");
    void write("later", "a");
    await vi.advanceTimersByTimeAsync(4000);
    expect(begun).toEqual(["s1", "s2"]);
  });

  it("hands a write over whose signal is aborted, to be refused", async () => {
    const abort = new AbortController();
    void write("first", "s1");
    void write("later", "a", abort.signal);
    abort.abort();
    await vi.advanceTimersByTimeAsync(25);
    expect(begun).toEqual(["s1", "a"]);
  });
});
