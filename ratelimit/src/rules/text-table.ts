// A table from texts to what they name, built once and only read. It touches less memory than a Map, which is what a lookup among ten thousand rules
// costs, and hashes a text that was just received without leaving compiled code. Not for tables that change.

/** The table. Its parts are for `lookUp` only. */
export interface TextTable<Value> {
  /** Two numbers per slot: the hash of the text, and one more than its position in the lists, or 0 for a free slot. At most every second slot is taken. */
  readonly slots: Int32Array;
  readonly texts: readonly string[];
  readonly values: readonly Value[];
  /** Longest text that is in the table: a longer one need not be hashed. */
  readonly longest: number;
}

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Builds the table. */
export function createTextTable<Value>(entries: ReadonlyMap<string, Value>): TextTable<Value> {
  let size = 2;
  while (size < entries.size * 2) size *= 2;
  const slots = new Int32Array(size * 2);
  const texts = [...entries.keys()];
  texts.forEach((text, index) => {
    const hash = hashOf(text);
    let at = hash & (size - 1);
    while (slots[2 * at + 1] !== 0) at = (at + 1) & (size - 1);
    slots[2 * at] = hash;
    slots[2 * at + 1] = index + 1;
  });
  return { slots, texts, values: [...entries.values()], longest: texts.reduce((longest, text) => Math.max(longest, text.length), 0) };
}

/** What the text names; undefined when it is not in the table. */
export function lookUp<Value>(table: TextTable<Value>, text: string): Value | undefined {
  if (text.length > table.longest) return undefined;
  const { slots, texts } = table;
  const mask = slots.length / 2 - 1;
  const hash = hashOf(text);
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const index = slots[2 * at + 1] ?? 0;
    if (index === 0) return undefined;
    if (slots[2 * at] === hash && texts[index - 1] === text) return table.values[index - 1];
  }
}

/** FNV-1a over UTF-16 units, with its high bits folded into the low ones that choose the slot. */
function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
