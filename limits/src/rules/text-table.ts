// A table from texts to values, built once. It finds a received text without leaving compiled code,
// where a Map calls the runtime for the text's hash, and reads less memory: with a Map a decision takes 1.13 times as long
// at 8 × 64 (docs/benchmark-trials.md).
import { getRandomValues } from "node:crypto";

/** The table. Its parts are for `lookUp` only. */
export interface TextTable<Value> {
  /**
   * Text and value of each slot in turn: their position follows from the hash alone, so the processor
   * fetches both while it reads the slot.
   */
  readonly pairs: readonly (string | Value | undefined)[];
  /**
   * Number of slots, a power of two, less one; -1 when there are none, because comparing with each
   * text takes less time than hashing.
   */
  readonly mask: number;
  /**
   * The hash of each slot's text, its lowest bit set; 0 for a free slot. At most three of four are
   * taken.
   */
  readonly slots: Int32Array;
  /**
   * How many units from the end of a text are hashed: the fewest that tell the texts of the table
   * apart.
   */
  readonly tail: number;
  /** Lengths of the shortest and the longest text in the table: others need not be hashed. */
  readonly shortest: number;
  readonly longest: number;
  /** The secret of the hash: 32 bits. */
  readonly seed: number;
}

/** Most texts that are compared one by one. */
const MAX_COMPARED = 8;

/** Most of them that have the same length: with the others, comparing ends at the length. */
const MAX_OF_ONE_LENGTH = 3;

const NO_SLOTS = new Int32Array(0);

/** Texts of a step that does little with each. */
const STEP = 64;

/** Values that `tail` may have; the last is more than any text has. */
const TAILS = [1, 2, 4, 8, 16] as const;
const WHOLE = 2 ** 30;

const FNV_PRIME = 0x01000193;

const [PROCESS_SEED = 0] = getRandomValues(new Int32Array(1));

/** Builds the table in steps. Tests choose the seed. */
export function* textTableSteps<Value>(
  entries: ReadonlyMap<string, Value>,
  seed: number = PROCESS_SEED,
): Generator<undefined, TextTable<Value>> {
  const texts = [...entries.keys()];
  const lengths = texts.map((text) => text.length);
  const shortest = lengths.reduce((least, length) => Math.min(least, length), WHOLE);
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const pairs: (string | Value | undefined)[] = [];
  if (isComparedByEach(lengths)) {
    for (const [text, value] of entries) pairs.push(flatCopyOf(text), value);
    return { pairs, mask: -1, slots: NO_SLOTS, tail: 0, shortest, longest, seed };
  }
  let size = 2;
  while (size * 3 < (entries.size + 1) * 4) size *= 2;
  const slots = new Int32Array(size);
  for (let at = 0; at < size; at++) {
    pairs.push(undefined, undefined);
    if (at % STEP === 0) yield;
  }
  const tail = yield* tailOf(texts, seed);
  for (const [text, value] of entries) {
    const hash = hashOf(text, tail, seed);
    let at = slotOf(hash, size - 1);
    while (slots[at] !== 0) at = (at + 1) & (size - 1);
    slots[at] = hash;
    pairs[2 * at] = flatCopyOf(text);
    pairs[2 * at + 1] = value;
    yield;
  }
  return { pairs, mask: size - 1, slots, tail, shortest, longest, seed };
}

/** The value of the text; undefined when it is not in the table. */
export function lookUp<Value>(table: TextTable<Value>, text: string): Value | undefined {
  const { pairs, mask } = table;
  if (mask < 0) {
    for (let at = 0; at < pairs.length; at += 2) if (pairs[at] === text) return pairs[at + 1] as Value;
    return undefined;
  }
  if (text.length < table.shortest || text.length > table.longest) return undefined;
  const { slots } = table;
  const hash = hashOf(text, table.tail, table.seed);
  for (let at = slotOf(hash, mask); ; at = (at + 1) & mask) {
    const found = slots[at];
    if (found === hash && pairs[2 * at] === text) return pairs[2 * at + 1] as Value;
    if (found === 0) return undefined;
  }
}

function isComparedByEach(lengths: readonly number[]): boolean {
  if (lengths.length > MAX_COMPARED) return false;
  return lengths.every((length) => lengths.filter((other) => other === length).length <= MAX_OF_ONE_LENGTH);
}

/**
 * The fewest units at the ends of these texts that, with the lengths, give each text a hash of its
 * own.
 */
function* tailOf(texts: readonly string[], seed: number): Generator<undefined, number> {
  for (const tail of TAILS) {
    const hashes = new Set<number>();
    for (const [index, text] of texts.entries()) {
      // The first two of one hash end the attempt.
      if (hashes.add(hashOf(text, tail, seed)).size <= index) break;
      if (index % STEP === 0) yield;
    }
    if (hashes.size === texts.length) return tail;
  }
  return WHOLE;
}

/**
 * The same text in one piece: a text that was cut out of another or concatenated refers to pieces
 * elsewhere in memory.
 */
function flatCopyOf(text: string): string {
  return Object.keys({ [text]: undefined })[0] ?? text; // The name of a property is always in one piece.
}

function slotOf(hash: number, mask: number): number {
  return (hash >>> 1) & mask; // The lowest bit is always set.
}

/**
 * FNV-1a over the length and the last UTF-16 units, with its high bits folded into the low ones
 * that choose the slot. Never 0. The seed keeps tenants from composing texts that share slots. It is
 * mixed in with every unit: under a seed that only starts the hash, texts exist that always collide.
 */
function hashOf(text: string, tail: number, seed: number): number {
  const { length } = text;
  let hash: number = length;
  for (let at = length > tail ? length - tail : 0; at < length; at++)
    hash = Math.imul(hash ^ seed ^ text.charCodeAt(at), FNV_PRIME);
  return (hash ^ (hash >>> 15)) | 1;
}
