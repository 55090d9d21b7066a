import { describe, expect, it } from "vitest";
import { inOneGo } from "../model/in-one-go.ts";
import { lookUp, type TextTable, textTableSteps } from "./text-table.ts";

function createTextTable<Value>(entries: ReadonlyMap<string, Value>, seed?: number): TextTable<Value> {
  return inOneGo(textTableSteps(entries, seed));
}

const [SEED, OTHER_SEED] = [0x2f1d_9c47, 0x7ab3_60e5];

function numbered(texts: readonly string[]): ReadonlyMap<string, number> {
  return new Map(texts.map((text, index) => [text, index]));
}

/** Slots of other texts that one lookup of each of these passes. */
function passedSlots(texts: readonly string[], seed: number): number {
  const { slots, mask } = createTextTable(numbered(texts), seed);
  return slots.reduce((sum, hash, at) => sum + (hash === 0 ? 0 : (at - (hash >>> 1)) & mask), 0);
}

describe("createTextTable", () => {
  it("lookUp() finds nothing when the table is empty", () => {
    const table = createTextTable(new Map<string, number>());
    expect(lookUp(table, "")).toBeUndefined();
    expect(lookUp(table, "a")).toBeUndefined();
  });

  it("lookUp() finds the empty text, texts of any script and names of object members when they are there", () => {
    const texts = ["", "a", "ä", "漢字", "😀", "__proto__", "constructor"];
    const table = createTextTable(new Map(texts.map((text, index) => [text, index])));
    expect(texts.map((text) => lookUp(table, text))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(lookUp(table, "toString")).toBeUndefined();
  });

  it("lookUp() finds each of 100,000 texts and none that is not there", () => {
    const table = createTextTable(new Map(Array.from({ length: 100_000 }, (_, index) => [`text-${index}`, index])));
    for (let index = 0; index < 100_000; index++) {
      if (lookUp(table, `text-${index}`) !== index)
        expect.fail(`text-${index} names ${String(lookUp(table, `text-${index}`))}`);
      if (lookUp(table, `test-${index}`) !== undefined) expect.fail(`test-${index} is there`);
    }
  });

  it("lookUp() does not look at a text that is longer than all of the table", () => {
    const table = createTextTable(new Map([["ab", 1]]));
    expect(lookUp(table, `ab${"b".repeat(1_000_000)}`)).toBeUndefined();
  });

  it("lookUp() distinguishes few or many texts wherever they differ", () => {
    for (const rest of ["", "s", "st", "suffix", "a-suffix-of-more-than-sixteen-units"]) {
      for (const count of [1, 2, 3, 4, 8, 9, 100]) {
        const table = createTextTable(
          new Map(Array.from({ length: count }, (_, index) => [`${100 + index}${rest}`, index])),
        );
        for (let index = 0; index < count; index++) expect(lookUp(table, `${100 + index}${rest}`)).toBe(index);
        for (const other of [
          `${100 + count}${rest}`,
          `1${rest}`,
          `x100${rest}`,
          `100${rest}x`,
          `x00${rest}`,
          rest,
          "",
        ]) {
          expect(lookUp(table, other)).toBeUndefined();
        }
      }
    }
  });

  it("lookUp() finds halves of surrogate pairs and numbers as they are written when they are in the table", () => {
    const texts = ["\ud83d", "\ude00", "7", "07", "7.0", "-0", "0"];
    const table = createTextTable(new Map(texts.map((text, index) => [text, index])));
    expect(texts.map((text) => lookUp(table, text))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(lookUp(table, "\ufffd")).toBeUndefined();
  });

  it("lookUp() passes no more slots with texts composed for another seed than with any others", () => {
    const texts = Array.from({ length: 100_000 }, (_, index) => `${1_000_000 + index}`);
    const { pairs, slots } = createTextTable(numbered(texts), SEED);
    // Those in the first sixteenth of the slots of a table that contains only them.
    const composed = pairs.filter(
      (text, at): text is string => typeof text === "string" && ((slots[at / 2] ?? 0) & 0x7800) === 0,
    );
    expect(passedSlots(composed, SEED) / composed.length).toBeGreaterThan(1000);
    const others = passedSlots(texts.slice(0, composed.length), OTHER_SEED);
    expect(passedSlots(composed, OTHER_SEED)).toBeLessThan(1.2 * others);
  });

  it("lookUp() passes few slots with texts that collide under every seed that only starts FNV-1a", () => {
    // Units of one bit add powers of the multiplier; exchanging them in a Thue-Morse sequence adds a multiple of 2^32.
    const bitOf = (unit: number) => unit.toString(2).replaceAll("0", "").length % 2;
    const block = (flip: number) =>
      Array.from({ length: 128 }, (_, unit) => String.fromCharCode(bitOf(unit) ^ flip)).join("");
    const texts = Array.from({ length: 256 }, (_, index) =>
      Array.from({ length: 8 }, (_, bit) => block((index >>> bit) & 1)).join(""),
    );
    for (const seed of [SEED, OTHER_SEED]) expect(passedSlots(texts, seed) / texts.length).toBeLessThan(1);
  });
});
