// Decodes header blocks (RFC 7541) into ranges of bytes.
import type { FieldList } from "./field-list.ts";

/** Bounds of one connection's decoder. */
export interface HpackLimits {
  /** The SETTINGS_HEADER_TABLE_SIZE that the peer was told, in bytes: 4096 unless it was announced. */
  readonly tableMaxBytes: number;
  /** Longest decoded list: 32 more than name and value for each field (RFC 9113, 6.5.2). */
  readonly listMaxBytes: number;
  /** Most changes of the table's size in one block: 2 are enough for every peer (RFC 7541, 4.2). */
  readonly tableUpdatesMax: number;
}

/**
 * "broken" is a connection error of type COMPRESSION_ERROR. After "too large" the table is in step
 * with the peer's, but the fields are incomplete: refuse the stream.
 */
export type HpackResult = "ok" | "broken" | "too large";

/** The decoder of one connection. */
export class HpackDecoder {
  /** Insertions and changes of size so far: equal numbers mean an equal table. */
  revision = 0;
  /** Why the last block was "broken", for the text of a GOAWAY. */
  fault = "";

  constructor(_limits: HpackLimits) {}

  /** Decodes the block from `start` up to `end` into `fields`, which it clears first. */
  decode(_block: Buffer, _start: number, _end: number, _fields: FieldList): HpackResult {
    throw new Error("Cannot decode yet");
  }
}
