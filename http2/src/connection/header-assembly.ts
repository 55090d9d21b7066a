// Puts header blocks together from HEADERS and CONTINUATION (RFC 9113, 6.2 and 6.10). A block is
// bounded before it is complete (CVE-2024-27316).
import { ConnectionError, ErrorCode, Flag, readUint31 } from "../frames/frame.ts";
import { paddingBytes } from "../frames/padding.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { Http2Counters } from "../limits/counters.ts";
import type { Http2Limits } from "../limits/limits.ts";

/** Bytes of the deprecated priority of a stream (RFC 9113, 6.2). */
const PRIORITY_BYTES = 5;

/** Receives complete header blocks. */
export interface BlockReceiver {
  /** A block: `bytes` from `start` up to `end`, valid until this returns. `isLast` = END_STREAM. */
  block(streamId: number, isLast: boolean, bytes: Buffer, start: number, end: number): void;
}

export interface HeaderAssemblyDeps {
  readonly receiver: BlockReceiver;
  readonly budget: ByteBudget;
  readonly limits: Http2Limits;
  readonly counters: Http2Counters;
}

/** A block whose frames are not complete. */
interface OpenBlock {
  readonly streamId: number;
  readonly isLast: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

/** The header blocks of one connection. */
export class HeaderAssembly {
  readonly #deps: HeaderAssemblyDeps;
  #open: OpenBlock | undefined;

  constructor(deps: HeaderAssemblyDeps) {
    this.#deps = deps;
  }

  /** True if nothing but CONTINUATION may follow. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Bytes of an incomplete block that are kept. */
  get keptBytes(): number {
    return this.#open?.bytes ?? 0;
  }

  /** A HEADERS frame. */
  headers(flags: number, streamId: number, bytes: Buffer, payloadStart: number, payloadEnd: number): void {
    let start = payloadStart;
    let end = payloadEnd;
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "HEADERS on stream 0");
    if ((flags & Flag.PADDED) !== 0) {
      end -= paddingBytes(bytes, start, end);
      start += 1;
    }
    if ((flags & Flag.PRIORITY) !== 0) {
      if (end - start < PRIORITY_BYTES) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS is too short");
      if (readUint31(bytes, start) === streamId)
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A stream depends on itself");
      start += PRIORITY_BYTES;
    }
    const isLast = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) {
      this.#deps.receiver.block(streamId, isLast, bytes, start, end);
      return;
    }
    this.#open = { streamId, isLast, parts: [], bytes: 0 };
    this.#keep(this.#open, bytes, start, end);
  }

  /** A CONTINUATION frame. */
  continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const open = this.#open;
    if (open?.streamId !== streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION follows no HEADERS");
    const { limits, counters, receiver } = this.#deps;
    if (open.parts.length > limits.continuationFramesMax || open.bytes + end - start > limits.headerBlockMaxBytes) {
      counters.headerFloods += 1;
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "A header block is too long");
    }
    this.#keep(open, bytes, start, end);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.free();
    receiver.block(streamId, open.isLast, Buffer.concat(open.parts), 0, open.bytes);
  }

  /** Forgets an incomplete block. */
  free(): void {
    this.#deps.budget.give(this.keptBytes);
    this.#open = undefined;
  }

  #keep(open: OpenBlock, bytes: Buffer, start: number, end: number): void {
    open.parts.push(Buffer.from(bytes.subarray(start, end)));
    open.bytes += end - start;
    this.#deps.budget.takeAnyway(end - start);
  }
}
