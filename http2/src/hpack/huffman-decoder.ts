// Decodes Huffman strings (RFC 7541, 5.2) four bits at a time, by a table built when it is loaded.
import { EOS, HUFFMAN_CODES } from "./huffman-code.ts";
import { VALUE_CLASS } from "./octet-class.ts";

/** Steps of one state: one for each value of four bits. */
const STEPS = 16;

/** A step completes at most one symbol, because the shortest code has five bits. */
const SYMBOL_MASK = 0xff;
const EMIT_SHIFT = 8;
/** Two bits: the classes of the symbol. */
const CLASS_SHIFT = 9;
/** The rest: where the next state's steps begin. */
const NEXT_SHIFT = 12;

/** Most bits of padding: the first ones of EOS. */
const PADDING_MAX_BITS = 7;

const { table: TABLE, isEnd: IS_END } = buildTable();

/**
 * Decodes the octets from `start` up to `end` into `target` from `offset` on, and returns
 * 4 × the offset after the last octet + the classes of all octets; −1 when the padding is not a
 * beginning of EOS with at most 7 bits, or EOS itself occurs. `target` has room for maxDecoded()
 * octets and one more.
 */
export function decodeHuffman(source: Buffer, start: number, end: number, target: Buffer, offset: number): number {
  let state = 0;
  let classes = 0;
  let to = offset;
  for (let at = start; at < end; at++) {
    const octet = source[at] ?? 0;
    let step = TABLE[state + (octet >>> 4)] ?? 0;
    target[to] = step & SYMBOL_MASK;
    to += (step >>> EMIT_SHIFT) & 1;
    classes |= step;
    step = TABLE[(step >>> NEXT_SHIFT) + (octet & 15)] ?? 0;
    target[to] = step & SYMBOL_MASK;
    to += (step >>> EMIT_SHIFT) & 1;
    classes |= step;
    state = step >>> NEXT_SHIFT;
  }
  return IS_END[state / STEPS] === 1 ? to * 4 + ((classes >>> CLASS_SHIFT) & 3) : -1;
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
    const octet = source[at] ?? 0;
    let step = TABLE[state + (octet >>> 4)] ?? 0;
    length += (step >>> EMIT_SHIFT) & 1;
    step = TABLE[(step >>> NEXT_SHIFT) + (octet & 15)] ?? 0;
    length += (step >>> EMIT_SHIFT) & 1;
    state = step >>> NEXT_SHIFT;
  }
  return IS_END[state / STEPS] === 1 ? length : -1;
}

/** A node of the tree of codes: the node or symbol after a 0 and after a 1. */
type Node = [Branch, Branch];
type Branch = { readonly node: number } | { readonly symbol: number } | undefined;

/** The state after EOS: no octet leaves it. */
function buildTable(): { table: Int32Array; isEnd: Uint8Array } {
  const nodes = buildTree();
  const dead = nodes.length;
  const table = new Int32Array((dead + 1) * STEPS).fill((dead * STEPS) << NEXT_SHIFT);
  for (let state = 0; state < dead; state++)
    for (let bits = 0; bits < STEPS; bits++) table[state * STEPS + bits] = stepOf(nodes, state, bits, dead);
  const isEnd = new Uint8Array(dead + 1);
  isEnd[0] = 1;
  let padded = 0;
  for (let bits = 1; bits <= PADDING_MAX_BITS; bits++) {
    const branch = nodes[padded]?.[1];
    if (branch === undefined || !("node" in branch)) throw new Error("EOS is shorter than its padding");
    padded = branch.node;
    isEnd[padded] = 1;
  }
  return { table, isEnd };
}

function buildTree(): readonly Node[] {
  const nodes: Node[] = [[undefined, undefined]];
  for (const [symbol, { bits, length }] of HUFFMAN_CODES.entries()) {
    let at = nodes[0];
    for (let left = length - 1; left >= 0 && at !== undefined; left--) {
      const bit = (bits >>> left) & 1;
      const branch = at[bit];
      if (left === 0) at[bit] = { symbol };
      else if (branch !== undefined && "node" in branch) at = nodes[branch.node];
      else {
        const next: Node = [undefined, undefined];
        at[bit] = { node: nodes.push(next) - 1 };
        at = next;
      }
    }
  }
  return nodes;
}

function stepOf(nodes: readonly Node[], from: number, bits: number, dead: number): number {
  let node = from;
  let emitted = 0;
  for (let left = 3; left >= 0; left--) {
    const branch = nodes[node]?.[(bits >>> left) & 1];
    if (branch === undefined) throw new Error("The code is incomplete");
    if ("node" in branch) node = branch.node;
    else if (branch.symbol === EOS) return (dead * STEPS) << NEXT_SHIFT;
    else {
      const { symbol } = branch;
      emitted = symbol | (1 << EMIT_SHIFT) | ((VALUE_CLASS[symbol] ?? 0) << CLASS_SHIFT);
      node = 0;
    }
  }
  return emitted | ((node * STEPS) << NEXT_SHIFT);
}
