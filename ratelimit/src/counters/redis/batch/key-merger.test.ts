// The merging of checks by key, in comparison with a plain Map, and the bounds of the search.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { KeyChecks } from "./key-checks.ts";
import { KeyMerger } from "./key-merger.ts";

/** A check of a key; the key is `name` with the start of the window. */
function pending(name: string, addend = 1, isRead = false): KeyChecks {
  return new KeyChecks(check(name, addend), new WaitingBatch([]), isRead);
}

/** The checks of each chain, as their addends. */
function chains(first: readonly KeyChecks[]): readonly (readonly number[])[] {
  return first.map((checks) => {
    const chain: number[] = [];
    for (let each: KeyChecks | undefined = checks; each !== undefined; each = each.next) chain.push(each.addend);
    return chain;
  });
}

/** The same by a Map, of checks that only increment. */
function mergeByMap(checks: readonly { readonly name: string; readonly addend: number }[]): readonly number[][] {
  const byName = new Map<string, number[]>();
  for (const { name, addend } of checks) byName.getOrInsertComputed(name, () => []).push(addend);
  return [...byName.values()];
}

describe("KeyMerger", () => {
  it("merge() merges equal keys in order of arrival, as a Map does", () => {
    const merger = new KeyMerger();
    const names = fc
      .tuple(fc.constantFrom("", "a", "ä", "€", "😀", "user-", "user-user-"), fc.nat(9))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(fc.record({ name: names, addend: fc.nat(9) }), { maxLength: 60 }), (checks) => {
        const first = merger.merge(checks.map(({ name, addend }) => pending(name, addend)));
        expect(chains(first)).toEqual(mergeByMap(checks));
        expect(first.map(({ sum }) => sum)).toEqual(mergeByMap(checks).map((chain) => chain.reduce((a, b) => a + b)));
        expect(first.map(({ keyBytes }) => keyBytes)).toEqual(first.map(({ key }) => Buffer.byteLength(key)));
      }),
      { seed: 3, numRuns: 100 },
    );
  });

  it("merge() keeps keys apart though a key ends with the first half of a character and the next begins with the other", () => {
    const keys = ["\ud83d", "\ude00", "aa-2000", "bb-2000", "bb-2000"];
    const checks = keys.map((key) => new KeyChecks({ ...check(key), key }, new WaitingBatch([]), false));
    expect(new KeyMerger().merge(checks).map(({ key, sum }) => [key, sum])).toEqual([
      ["\ud83d", 2], // Both halves alone are the same bytes: one key for the store.
      ["aa-2000", 1],
      ["bb-2000", 2],
    ]);
  });

  it("merge() joins reads to increments before them, and no increment to reads", () => {
    const merger = new KeyMerger();
    const first = merger.merge([
      pending("a", 7, true),
      pending("a", 7, true),
      pending("a", 2),
      pending("a", 7, true),
      pending("a", 3),
    ]);
    expect(chains(first)).toEqual([
      [0, 0],
      [2, 0, 3],
    ]);
    expect(first.map(({ isRead, sum }) => [isRead, sum])).toEqual([
      [true, 0],
      [false, 5],
    ]);
  });

  it("merge() keeps the longest window of a key", () => {
    const [minute, hour] = [60, 3600].map(
      (windowSeconds) => new KeyChecks(check("a", 1, 7200, windowSeconds), new WaitingBatch([]), false),
    );
    if (minute === undefined || hour === undefined) throw new Error("Two checks were made");
    expect(new KeyMerger().merge([minute, hour, pending("b")]).map(({ windowSeconds }) => windowSeconds)).toEqual([
      3600, 60,
    ]);
  });

  it("merge() merges no long keys, and hashes none", () => {
    const merger = new KeyMerger();
    const [short, long] = ["x".repeat(1000), "ä".repeat(2000)];
    const first = merger.merge([pending(short), pending(long), pending(long), pending(short)]);
    expect(first.map(({ keyBytes, tag }) => [keyBytes, tag !== undefined])).toEqual([
      [1011, true],
      [4011, false],
      [4011, false],
    ]);
  });

  it("merge() answers for many keys: each is in the result once, or once more per round", () => {
    const merger = new KeyMerger();
    const names = Array.from({ length: 10_000 }, (_, index) => `user-${index % 1500}`);
    const first = merger.merge(names.map((name) => pending(name)));
    expect(first.reduce((sum, each) => sum + each.sum, 0)).toBe(10_000);
    expect(new Set(first.map(({ key }) => key)).size).toBe(1500);
    expect(first.length).toBeLessThan(1500 * 6);
  });

  it("merge() spreads keys that differ in a digit over the hashes", () => {
    const merger = new KeyMerger();
    const checks = Array.from({ length: 40_000 }, (_, index) => pending(`domain_user_${index}`));
    const first = merger.merge(checks);
    expect(first.length).toBe(40_000);
    const buckets = new Map<number, number>();
    for (const { hash } of first) buckets.set(hash & 0xffff, (buckets.get(hash & 0xffff) ?? 0) + 1);
    expect(Math.max(...buckets.values())).toBeLessThan(12);
    expect(new Set(first.map(({ hash, tag }) => `${hash} ${tag}`)).size).toBe(40_000);
  });
});
