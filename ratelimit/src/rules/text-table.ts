// A table from texts to what they name, built once and only read. It touches less memory than a Map, which is what a lookup among ten thousand rules
// costs, and hashes a text that was just received without leaving compiled code. Not for tables that change.

/** The table. Its parts are for `lookUp` only. */
export interface TextTable<Value> {
  /** The hash of each slot's text, its lowest bit set; 0 for a free slot. At most three of four are taken. */
  readonly slots: Int32Array;
  /** Text and value of each slot in turn: where they are follows from the hash alone, so that the processor fetches both while it looks at the slot. */
  readonly pairs: readonly (string | Value | undefined)[];
  /** Longest text that is in the table: a longer one need not be hashed. */
  readonly longest: number;
}

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Builds the table. */
export function createTextTable<Value>(entries: ReadonlyMap<string, Value>): TextTable<Value> {
  let size = 2;
  while (size * 3 < (entries.size + 1) * 4) size *= 2;
  const slots = new Int32Array(size);
  const pairs = Array.from<string | Value | undefined>({ length: 2 * size }).fill(undefined);
  let longest = 0;
  for (const [text, value] of entries) {
    longest = Math.max(longest, text.length);
    const hash = hashOf(text);
    let at = slotOf(hash, size - 1);
    while (slots[at] !== 0) at = (at + 1) & (size - 1);
    slots[at] = hash;
    pairs[2 * at] = flatCopyOf(text);
    pairs[2 * at + 1] = value;
  }
  return { slots, pairs, longest };
}

/** What the text names; undefined when it is not in the table. */
export function lookUp<Value>(table: TextTable<Value>, text: string): Value | undefined {
  if (text.length > table.longest) return undefined;
  const { slots, pairs } = table;
  const mask = slots.length - 1;
  const hash = hashOf(text);
  for (let at = slotOf(hash, mask); ; at = (at + 1) & mask) {
    const found = slots[at];
    if (found === hash && pairs[2 * at] === text) return pairs[2 * at + 1] as Value;
    if (found === 0) return undefined;
  }
}

/** The same text in one piece: a text that was cut out of another or put together leads to the pieces, which are elsewhere in memory. */
function flatCopyOf(text: string): string {
  const copy = Buffer.from(text).toString();
  return copy === text ? copy : text; // UTF-8 has no form for half of a surrogate pair.
}

function slotOf(hash: number, mask: number): number {
  return (hash >>> 1) & mask; // The lowest bit is always set.
}

/** FNV-1a over UTF-16 units, with its high bits folded into the low ones that choose the slot. Never 0. */
function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) | 1;
}
