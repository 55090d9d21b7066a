// Decodes Huffman strings (RFC 7541, 5.2) octet by octet, by a table built when it is loaded.
import { EOS, HUFFMAN_CODES } from "./huffman-code.ts";
import { VALUE_CLASS } from "./octet-class.ts";

/** Steps of one state: one for each octet. */
const STEPS_SHIFT = 8;
const STEPS = 1 << STEPS_SHIFT;

/**
 * A step completes at most two symbols, because the shortest code has five bits: the first one is in
 * the low bits, the second above it.
 */
const SECOND_SHIFT = 8;
/** Two bits: how many symbols are completed. */
const COUNT_SHIFT = 16;
/** Two bits: the classes of the symbols together. */
const CLASS_SHIFT = 18;
/** The rest: the next state. */
const NEXT_SHIFT = 20;

/** Octets beyond the last that decodeHuffman() may write. */
export const HUFFMAN_SPARE_BYTES = 2;

/** Most bits of padding: the first ones of EOS. */
const PADDING_MAX_BITS = 7;

const { table: TABLE, isEnd: IS_END } = buildTable();

/**
 * Decodes the octets from `start` up to `end` into `target` from `offset` on, and returns
 * 4 × the offset after the last octet + the classes of all octets; −1 when the padding is not a
 * beginning of EOS with at most 7 bits, or EOS itself occurs. `target` has room for maxDecoded()
 * octets and HUFFMAN_SPARE_BYTES more.
 */
export function decodeHuffman(source: Buffer, start: number, end: number, target: Buffer, offset: number): number {
  let state = 0;
  let classes = 0;
  let to = offset;
  for (let at = start; at < end; at++) {
    const step = TABLE[(state << STEPS_SHIFT) + (source[at] ?? 0)] ?? 0;
    target[to] = step;
    target[to + 1] = step >>> SECOND_SHIFT;
    to += (step >>> COUNT_SHIFT) & 3;
    classes |= step;
    state = step >>> NEXT_SHIFT;
  }
  return IS_END[state] === 1 ? to * 4 + ((classes >>> CLASS_SHIFT) & 3) : -1;
}

/** Octets that so many encoded octets decode to, at most. */
export function maxDecoded(encoded: number): number {
  return Math.floor((encoded * 8) / 5);
}

/** Octets that a string decodes to; −1 when it is invalid. */
export function huffmanLength(source: Buffer, start: number, end: number): number {
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const step = TABLE[(state << STEPS_SHIFT) + (source[at] ?? 0)] ?? 0;
    length += (step >>> COUNT_SHIFT) & 3;
    state = step >>> NEXT_SHIFT;
  }
  return IS_END[state] === 1 ? length : -1;
}

/** A node of the tree of codes: its successors after a 0 and after a 1. */
type Node = [number, number];

function buildTable(): { table: Int32Array; isEnd: Uint8Array } {
  const nodes = buildTree();
  // The state after EOS, which no octet leaves.
  const dead = nodes.length;
  const table = new Int32Array((dead + 1) * STEPS).fill(dead << NEXT_SHIFT);
  for (let state = 0; state < dead; state++)
    for (let octet = 0; octet < STEPS; octet++) table[state * STEPS + octet] = stepOf(nodes, state, octet, dead);
  const isEnd = new Uint8Array(dead + 1);
  isEnd[0] = 1;
  let padded = 0;
  for (let bits = 1; bits <= PADDING_MAX_BITS; bits++) {
    padded = nodes[padded]?.[1] ?? dead;
    isEnd[padded] = 1;
  }
  return { table, isEnd };
}

/** The tree of codes: for each node what follows a 0 and a 1. A symbol is ~symbol, which is negative. */
function buildTree(): readonly Node[] {
  const nodes: Node[] = [[0, 0]];
  for (const [symbol, { bits, length }] of HUFFMAN_CODES.entries()) {
    let node: Node | undefined = nodes[0];
    for (let left = length - 1; left >= 0 && node !== undefined; left--) {
      const bit = ((bits >>> left) & 1) as 0 | 1;
      if (left === 0) node[bit] = ~symbol;
      else {
        // 0 is the root, which nothing leads to: not there yet.
        if (node[bit] === 0) node[bit] = nodes.push([0, 0]) - 1;
        node = nodes[node[bit]];
      }
    }
  }
  return nodes;
}

function stepOf(nodes: readonly Node[], from: number, octet: number, dead: number): number {
  let node = from;
  let count = 0;
  let symbols = 0;
  let classes = 0;
  for (let left = 7; left >= 0; left--) {
    const next = nodes[node]?.[((octet >>> left) & 1) as 0 | 1] ?? dead;
    if (next >= 0) {
      node = next;
      continue;
    }
    if (~next === EOS) return dead << NEXT_SHIFT;
    symbols |= ~next << (count * SECOND_SHIFT);
    classes |= VALUE_CLASS[~next] ?? 0;
    count++;
    node = 0;
  }
  return symbols | (count << COUNT_SHIFT) | (classes << CLASS_SHIFT) | (node << NEXT_SHIFT);
}
