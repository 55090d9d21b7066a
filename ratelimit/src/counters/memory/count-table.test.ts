// The table of counts against a Map, also where hashes are the same.
import { describe, expect, it } from "vitest";
import { CountTable } from "./count-table.ts";
import { StoredKey } from "./stored-key.ts";

/** Keys whose hashes keep these bits only. */
class MaskedKey extends StoredKey {
  readonly #mask: number;

  constructor(mask: number) {
    super({ low: 3, high: 4 });
    this.#mask = mask;
  }

  override set(text: string): void {
    super.set(text);
    this.hash &= this.#mask;
  }
}

/** Adds 1 to the count of a key and returns the sum. */
function add(table: CountTable, key: StoredKey, text: string): number {
  key.set(text);
  const place = table.find(key);
  if (place !== 0) return table.increment(place, 1);
  if (!table.insert(key, 1)) throw new Error(`The table must take ${text}`);
  return 1;
}

describe("CountTable", () => {
  it.each([
    { what: "of 32 bits", mask: -1, keys: 50_000 },
    { what: "that fall into eight segments and 32 slots", mask: 0xf800_0007 | 0, keys: 5000 },
    { what: "that are all the same", mask: 0, keys: 1500 },
  ])("counts every key by itself when there are $keys with hashes $what", ({ mask, keys }) => {
    const [table, key, expected] = [new CountTable(), new MaskedKey(mask), new Map<string, number>()];
    for (let step = 0; step < 2 * keys; step++) {
      // Each third key is counted more than once while others are added.
      const text = `key-${step < keys ? step : (step * 7919) % keys}`;
      const count = (expected.get(text) ?? 0) + 1;
      expected.set(text, count);
      if (add(table, key, text) !== count) throw new Error(`The count of ${text} must be ${count}`);
    }
    expect(table.size).toBe(expected.size);
    for (const [text, count] of expected) {
      key.set(text);
      if (table.count(table.find(key)) !== count) throw new Error(`The count of ${text} must be ${count}`);
    }
  });

  it("find() returns 0 when no key is the same, although hashes are", () => {
    const [table, key] = [new CountTable(), new MaskedKey(0)];
    add(table, key, "a");
    key.set("b");
    expect(table.find(key)).toBe(0);
  });

  it("insert() returns false when more keys have one hash than fit into a segment", () => {
    const [table, key] = [new CountTable(), new MaskedKey(0)];
    let added = 0;
    for (; added < 3000; added++) {
      key.set(`key-${added}`);
      if (!table.insert(key, added)) break;
    }
    expect(added).toBe(1639);
    expect(table.size).toBe(1639);
    key.set("key-1638");
    expect(table.count(table.find(key))).toBe(1638);
  });

  it("keeps keys of every length up to the longest", () => {
    const [table, key] = [new CountTable(), new MaskedKey(-1)];
    const texts = Array.from({ length: 257 }, (_, length) => ["a", "敥"].map((unit) => unit.repeat(length))).flat();
    for (const text of new Set(texts)) expect(add(table, key, text)).toBe(1);
    for (const text of new Set(texts)) expect(add(table, key, text)).toBe(2);
  });
});
