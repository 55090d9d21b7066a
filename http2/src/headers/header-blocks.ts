// The header blocks that one connection receives: decoded, validated and read.
import type { FieldList } from "../hpack/field-list.ts";
import type { HpackLimits } from "../hpack/hpack-decoder.ts";
import type { HeaderFault, RequestHead } from "./request-head.ts";

/** The header blocks of one connection, in the order in which they are received. */
export class HeaderBlocks {
  /** `fields` is scratch space that all connections of a thread share. */
  constructor(_limits: HpackLimits, _fields: FieldList) {}

  /** Reads the block that opens a stream, from `start` up to `end`. */
  request(_block: Buffer, _start: number, _end: number): RequestHead | HeaderFault {
    throw new Error("Cannot read yet");
  }

  /** Reads the block that ends a stream: undefined when it is sound. */
  trailers(_block: Buffer, _start: number, _end: number): HeaderFault | undefined {
    throw new Error("Cannot read yet");
  }

  /** Decodes a block of a stream that is closed or refused, so that the table stays in step. */
  discard(_block: Buffer, _start: number, _end: number): HeaderFault | undefined {
    throw new Error("Cannot read yet");
  }
}
