// The bounds of the algorithm, on streams of every shape.
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import { type KeyCounts, mergeCounts, SpaceSaving } from "./space-saving.ts";

const CAPACITY = 32;

/** Hashes: several keys of a stream have the same one. */
const HASHES = 97;

/** A stream of keys, which are numbers. */
type Stream = readonly number[];

/** Keys from 1, the n-th of which comes with a frequency of n to the power of -skew. */
function zipf(
  skew: number,
  seed: number,
  { keys, length }: { readonly keys: number; readonly length: number },
): Stream {
  const random = new Random(seed);
  const sums: number[] = [];
  for (let key = 1; key <= keys; key++) sums.push((sums.at(-1) ?? 0) + key ** -skew);
  const total = sums.at(-1) ?? 0;
  return Array.from({ length }, () => {
    const drawn = (random.below(2 ** 31) / 2 ** 31) * total;
    return sums.findIndex((sum) => drawn < sum) + 1;
  });
}

const distinct = (length: number, from: number): Stream => Array.from({ length }, (_, index) => from + index);
const repeated = (keys: Stream, times: number): Stream => Array<Stream>(times).fill(keys).flat();

const STREAMS: readonly (readonly [string, Stream])[] = [
  ...[0.8, 1, 1.2, 1.5].map((skew) => [`Zipf ${skew}`, zipf(skew, skew * 10, { keys: 1000, length: 20_000 })] as const),
  ["fewer keys than the table has", repeated(distinct(20, 1), 50)],
  ["one key more than the table has, in turn", repeated(distinct(CAPACITY + 1, 1), 200)],
  ["distinct keys only", distinct(10_000, 1)],
  ["heavy keys, then distinct ones", [...repeated(distinct(10, 1), 300), ...distinct(9000, 100)]],
  ["distinct keys, then heavy ones", [...distinct(9000, 100), ...repeated(distinct(10, 1), 300)]],
  ["distinct keys between heavy ones", distinct(5000, 100).flatMap((key) => [key, 1 + (key % 5)])],
  ["a new heavy key whenever the one before is known", distinct(200, 1).flatMap((key) => repeated([key], 40))],
];

function read(stream: Stream): KeyCounts<number> {
  const table = new SpaceSaving<number>(CAPACITY, { isOf: (key, source) => key === source, keyOf: (source) => source });
  for (const key of stream) table.add(key % HASHES, key, 1);
  return table.read();
}

/** The keys whose true count is outside of what was read. */
function wrong(counts: KeyCounts<number>, stream: Stream): readonly string[] {
  const truth = new Map<number, number>();
  for (const key of stream) truth.set(key, (truth.get(key) ?? 0) + 1);
  const found: string[] = [];
  for (const { key, count, error } of counts.keys) {
    const exact = truth.get(key) ?? 0;
    if (exact > count || exact < count - error) found.push(`${key}: ${exact} is not ${count} - ${error}`);
    truth.delete(key);
  }
  for (const [key, exact] of truth) if (exact > counts.floor) found.push(`${key}: ${exact} > ${counts.floor}`);
  return found;
}

describe("SpaceSaving", () => {
  it.each(STREAMS)("has each true count within its error: %s", (_, stream) => {
    const counts = read(stream);
    expect(wrong(counts, stream)).toEqual([]);
    expect(counts.total).toBe(stream.length);
    expect(counts.keys.every(({ error }) => error <= stream.length / CAPACITY)).toBe(true);
    expect(counts.keys.map(({ count }) => count)).toEqual(
      counts.keys.map(({ count }) => count).toSorted((a, b) => b - a),
    );
  });

  it.each(STREAMS)("mergeCounts() has, too, of two tables: %s", (_, stream) => {
    const other = zipf(1, 7, { keys: 60, length: 3000 });
    const merged = mergeCounts(read(stream), read(other), { capacity: CAPACITY, identify: String });
    expect(merged.keys.length).toBeLessThanOrEqual(CAPACITY);
    expect(wrong(merged, [...stream, ...other])).toEqual([]);
    expect(merged.total).toBe(stream.length + other.length);
  });

  it("finds every key that has more than its share", () => {
    const heavy = distinct(10, 1);
    const stream = [...distinct(3000, 100), ...repeated(heavy, 150), ...distinct(300, 5000)];
    expect(new Set(read(stream).keys.map(({ key }) => key)).isSupersetOf(new Set(heavy))).toBe(true);
  });

  it("has exact counts while there are no more keys than it keeps", () => {
    expect(read([3, 1, 3, 2, 3, 1])).toEqual({
      keys: [
        { key: 3, count: 3, error: 0 },
        { key: 1, count: 2, error: 0 },
        { key: 2, count: 1, error: 0 },
      ],
      floor: 0,
      total: 6,
    });
  });
});
