// The heads of the last few header blocks of a connection. Equal bytes with an equal dynamic table
// are equal headers, so a hit is exact.
import type { RequestHead } from "./request-head.ts";

/** Blocks that are remembered. */
const BLOCKS = 4;

/** Longest block that is remembered, and most bytes that its head keeps. */
const BLOCK_MAX_BYTES = 512;
const HEAD_MAX_BYTES = 640;

interface CachedBlock {
  /** The table's revision before and after the block: it changed nothing. */
  revision: number;
  readonly bytes: Buffer;
  length: number;
  head: RequestHead | undefined;
}

/** Heads by their blocks. */
export class HeaderBlockCache {
  readonly #blocks: CachedBlock[] = [];
  #oldest = 0;

  /** The head of an equal block, if one is remembered that was decoded with the same table. */
  find(revision: number, block: Buffer, start: number, end: number): RequestHead | undefined {
    const length = end - start;
    for (const cached of this.#blocks) {
      if (cached.revision !== revision || cached.length !== length) continue;
      if (isEqual(cached.bytes, block, start, length)) return cached.head;
    }
    return undefined;
  }

  /** Remembers a block that left the table as it was, and keeps the headers of its head; unless they are long. */
  add(revision: number, block: Buffer, start: number, end: number, head: RequestHead): void {
    const length = end - start;
    if (length > BLOCK_MAX_BYTES) return;
    head.keep();
    if (head.keptBytes > HEAD_MAX_BYTES) return;
    let cached = this.#blocks[this.#oldest];
    if (cached === undefined) {
      cached = { revision, bytes: Buffer.alloc(BLOCK_MAX_BYTES), length, head };
      this.#blocks.push(cached);
    }
    cached.revision = revision;
    cached.length = length;
    cached.head = head;
    block.copy(cached.bytes, 0, start, end);
    this.#oldest = (this.#oldest + 1) % BLOCKS;
  }
}

function isEqual(cached: Buffer, block: Buffer, start: number, length: number): boolean {
  for (let at = 0; at < length; at++) if (cached[at] !== block[start + at]) return false;
  return true;
}
