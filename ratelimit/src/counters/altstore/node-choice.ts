// Which node holds a key. Every pod must choose alike, those of the field too, so there is nothing
// to be improved here.
import { crc32 } from "node:zlib";

/** The place in a list of `count` nodes: CRC32-IEEE of the key's UTF-8 bytes, modulo. */
export function nodeIndex(key: string, count: number): number {
  return count === 1 ? 0 : crc32(key) % count;
}
