// A table from texts to what they name, built once and only read. It touches less memory than a Map, which is what a lookup among ten thousand rules
// costs, and hashes a text that was just received without leaving compiled code. Not for tables that change.

/** The table. Its parts are for `lookUp` only. */
export interface TextTable<Value> {
  /**
   * One number per slot, 0 for a free one, at most three of four taken. Its low bits, as many as number the slots, are one more than the position of
   * the pair; the others are those of the text's hash, so that hardly any text is compared in vain.
   */
  readonly slots: Int32Array;
  /** How many low bits those are. */
  readonly indexBits: number;
  /** Text and value in turn: what is compared lies beside what is answered. */
  readonly pairs: readonly (string | Value)[];
  /** Longest text that is in the table: a longer one need not be hashed. */
  readonly longest: number;
}

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Builds the table. */
export function createTextTable<Value>(entries: ReadonlyMap<string, Value>): TextTable<Value> {
  let indexBits = 1;
  while (2 ** indexBits * 3 < (entries.size + 1) * 4) indexBits += 1;
  const slots = new Int32Array(2 ** indexBits);
  const mask = slots.length - 1;
  const pairs: (string | Value)[] = [];
  let longest = 0;
  for (const [text, value] of entries) {
    pairs.push(text, value);
    longest = Math.max(longest, text.length);
    const hash = hashOf(text);
    let at = hash & mask;
    while (slots[at] !== 0) at = (at + 1) & mask;
    slots[at] = (hash & ~mask) | (pairs.length / 2);
  }
  return { slots, indexBits, pairs, longest };
}

/** What the text names; undefined when it is not in the table. */
export function lookUp<Value>(table: TextTable<Value>, text: string): Value | undefined {
  if (text.length > table.longest) return undefined;
  const { slots, indexBits, pairs } = table;
  const mask = slots.length - 1;
  const hash = hashOf(text);
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const slot = slots[at] ?? 0;
    if (slot === 0) return undefined;
    if ((slot ^ hash) >>> indexBits !== 0) continue;
    const pair = 2 * (slot & mask) - 2;
    if (pairs[pair] === text) return pairs[pair + 1] as Value;
  }
}

/** FNV-1a over UTF-16 units, with its high bits folded into the low ones that choose the slot. */
function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
