// The header blocks that one connection receives: decoded, validated and read.
import type { FieldList } from "../hpack/field-list.ts";
import { HpackDecoder, type HpackLimits, type HpackResult } from "../hpack/hpack-decoder.ts";
import { HEAD_MAX_BYTES, HeaderBlockCache } from "./header-block-cache.ts";
import { RecentValues } from "./recent-values.ts";
import { readHeadValues, RequestHead } from "./request-head.ts";
import { requestFault, trailersFault } from "./validate-request.ts";

/** Why a block has no head. */
export interface HeaderFault {
  /**
   * "connection": GOAWAY with COMPRESSION_ERROR. "malformed": the stream is reset with
   * PROTOCOL_ERROR (RFC 9113, 8.1.1). "too large": the stream is refused, for example with status
   * 431.
   */
  readonly kind: "connection" | "malformed" | "too large";
  readonly reason: string;
}

const TOO_LARGE: HeaderFault = { kind: "too large", reason: "a header list beyond SETTINGS_MAX_HEADER_LIST_SIZE" };

/** The header blocks of one connection, in the order in which they are received. */
export class HeaderBlocks {
  readonly #decoder: HpackDecoder;
  readonly #fields: FieldList;
  readonly #cache = new HeaderBlockCache();
  readonly #recent = new RecentValues();

  /** `fields` has the same limits; it is scratch space that all connections of a thread share. */
  constructor(limits: HpackLimits, fields: FieldList) {
    this.#decoder = new HpackDecoder(limits);
    this.#fields = fields;
  }

  /** Reads the block that opens a stream, from `start` up to `end`. */
  request(block: Buffer, start: number, end: number): RequestHead | HeaderFault {
    const { revision } = this.#decoder;
    const cached = this.#cache.find(revision, block, start, end);
    if (cached?.head !== undefined) return cached.head;
    const result = this.#decoder.decode(block, start, end, this.#fields);
    if (result !== "ok") return this.#faultOf(result);
    let values = this.#recent.find(this.#fields);
    if (values === undefined) {
      const fault = requestFault(this.#fields);
      if (fault !== undefined) return { kind: "malformed", reason: fault };
      values = readHeadValues(this.#fields);
      this.#recent.keep(this.#fields, values);
    }
    const head = new RequestHead(this.#fields, values);
    if (cached !== undefined) {
      head.keep();
      if (head.keptBytes <= HEAD_MAX_BYTES) cached.head = head;
    } else if (this.#decoder.revision === revision) this.#cache.add(revision, block, start, end);
    return head;
  }

  /** Reads the block that ends a stream; undefined when it is sound. */
  trailers(block: Buffer, start: number, end: number): HeaderFault | undefined {
    const result = this.#decoder.decode(block, start, end, this.#fields);
    if (result !== "ok") return this.#faultOf(result);
    const fault = trailersFault(this.#fields);
    return fault === undefined ? undefined : { kind: "malformed", reason: fault };
  }

  /**
   * Decodes a block of a stream that is closed or refused, so that the table stays in step; only a
   * fault of kind "connection".
   */
  discard(block: Buffer, start: number, end: number): HeaderFault | undefined {
    const result = this.#decoder.decode(block, start, end, this.#fields);
    return result === "broken" ? this.#faultOf(result) : undefined;
  }

  #faultOf(result: Exclude<HpackResult, "ok">): HeaderFault {
    return result === "too large" ? TOO_LARGE : { kind: "connection", reason: this.#decoder.fault };
  }
}
