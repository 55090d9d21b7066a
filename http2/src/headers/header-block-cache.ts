// The heads of the last few header blocks of a connection. Equal bytes with an equal dynamic table
// are equal headers, so a hit is exact. A head is kept when its block has come twice. A hot key takes 1.4 µs with it and
// 1.7 without (docs/benchmark-trials.md).
import type { RequestHead } from "./request-head.ts";

/** Blocks that are remembered. */
const BLOCKS = 4;

/** Longest block that is remembered, in bytes. */
const BLOCK_MAX_BYTES = 512;

/** Most bytes of a head that is kept: the table makes a few bytes of a block kilobytes of headers. */
export const HEAD_MAX_BYTES = 640;

/** A block that left the table as it was. */
export interface CachedBlock {
  /** Its head, from the second time on. */
  head: RequestHead | undefined;
  /** The revision of the table before and after it. */
  revision: number;
  readonly bytes: Buffer;
  length: number;
}

/** Heads by their blocks. */
export class HeaderBlockCache {
  readonly #blocks: CachedBlock[] = [];
  #oldest = 0;

  /** An equal block that was decoded with the same table, if one is remembered. */
  find(revision: number, block: Buffer, start: number, end: number): CachedBlock | undefined {
    const length = end - start;
    for (const cached of this.#blocks) {
      if (cached.revision !== revision || cached.length !== length) continue;
      if (isEqual(cached.bytes, block, start, length)) return cached;
    }
    return undefined;
  }

  /** Remembers a block that left the table as it was, in place of the one that was added first. */
  add(revision: number, block: Buffer, start: number, end: number): void {
    const length = end - start;
    if (length > BLOCK_MAX_BYTES) return;
    let cached = this.#blocks[this.#oldest];
    if (cached === undefined) {
      cached = { head: undefined, revision, bytes: Buffer.alloc(BLOCK_MAX_BYTES), length };
      this.#blocks.push(cached);
    }
    cached.head = undefined;
    cached.revision = revision;
    cached.length = length;
    block.copy(cached.bytes, 0, start, end);
    this.#oldest = (this.#oldest + 1) % BLOCKS;
  }
}

function isEqual(cached: Buffer, block: Buffer, start: number, length: number): boolean {
  for (let at = 0; at < length; at++) if (cached[at] !== block[start + at]) return false;
  return true;
}
