// Decodes a RateLimitRequest into the object that the decider wants, without a library: it is the
// first step of every decision.
import type { Entry, LimitOverride } from "@weir/limits/rules/rule";

import type { RateLimitRequest, RequestDescriptor } from "../../../decide/request.ts";
import { KnownStrings } from "./known-strings.ts";
import { MalformedMessage } from "@weir/http2/grpc/malformed-message";
import { DELIMITED, VARINT, WireReader } from "./wire-reader.ts";

/** Tags of RateLimitRequest. */
const DOMAIN = (1 << 3) | DELIMITED;
const DESCRIPTOR = (2 << 3) | DELIMITED;
const HITS_ADDEND = (3 << 3) | VARINT;
const REQUEST_FIELDS = 3;

/** Tags of RateLimitDescriptor. */
const ENTRY = (1 << 3) | DELIMITED;
const LIMIT = (2 << 3) | DELIMITED;
const OWN_HITS_ADDEND = (3 << 3) | DELIMITED;
const IS_NEGATIVE_HITS = (4 << 3) | VARINT;
const DESCRIPTOR_FIELDS = 4;

/** Tags of RateLimitDescriptor.Entry. */
const KEY = (1 << 3) | DELIMITED;
const VALUE = (2 << 3) | DELIMITED;
const ENTRY_FIELDS = 2;

/** Tags of RateLimitDescriptor.RateLimitOverride. */
const REQUESTS_PER_UNIT = (1 << 3) | VARINT;
const UNIT = (2 << 3) | VARINT;
const UNIT_MULTIPLIER = (3 << 3) | DELIMITED;
const LIMIT_FIELDS = 3;

/** Tags of google.protobuf.UInt32Value and UInt64Value. */
const WRAPPED = (1 << 3) | VARINT;
const WRAPPER_FIELDS = 1;

/** Placeholders for the elements beyond the maximum of a list. */
const TOO_MANY_ENTRY: Entry = Object.freeze({ key: "", value: "" });
const TOO_MANY_DESCRIPTOR: RequestDescriptor = Object.freeze({ entries: Object.freeze([]) });

/** Lists up to this length are decoded; the decider rejects longer ones by their length. */
export interface RequestDecoderOptions {
  /** MAX_DESCRIPTORS_PER_REQUEST. */
  readonly maxDescriptors: number;
  /** MAX_ENTRIES_PER_DESCRIPTOR. */
  readonly maxEntries: number;
}

/** Decodes requests, one after the other. */
export class RequestDecoder {
  readonly #options: RequestDecoderOptions;
  readonly #reader = new WireReader();
  readonly #known = new KnownStrings();

  constructor(options: RequestDecoderOptions) {
    this.#options = options;
  }

  /**
   * The request in `bytes` from `start` up to `end`; nothing of the buffer is kept. Throws
   * MalformedMessage. A list beyond its maximum has its length, but not the contents of the rest.
   */
  decode(bytes: Buffer, start: number, end: number): RateLimitRequest {
    this.#reader.open(bytes, start, end);
    try {
      return this.#request();
    } finally {
      this.#reader.close();
    }
  }

  /** Lists begin with their first element: an empty array that grows takes 17 in one step. */
  #request(): RateLimitRequest {
    const reader = this.#reader;
    let descriptors: RequestDescriptor[] | undefined;
    let domain = "";
    let hitsAddend = 0;
    while (reader.at < reader.end) {
      const tag = reader.tag();
      switch (tag) {
        case DOMAIN:
          domain = reader.knownString(this.#known);
          break;
        case DESCRIPTOR:
          if (descriptors === undefined) descriptors = [this.#descriptor(0)];
          else descriptors.push(this.#descriptor(descriptors.length));
          break;
        case HITS_ADDEND:
          hitsAddend = reader.uint32();
          break;
        default:
          this.#skip(tag, REQUEST_FIELDS);
      }
    }
    return { domain, descriptors: descriptors ?? [], hitsAddend };
  }

  #descriptor(index: number): RequestDescriptor {
    const reader = this.#reader;
    if (index >= this.#options.maxDescriptors) {
      reader.skip(DESCRIPTOR);
      return TOO_MANY_DESCRIPTOR;
    }
    const outerEnd = reader.enter();
    let entries: Entry[] | undefined;
    let limit: LimitOverride | undefined;
    let hitsAddend: number | undefined;
    let isNegativeHits = false;
    while (reader.at < reader.end) {
      const tag = reader.tag();
      switch (tag) {
        case ENTRY:
          if (entries === undefined) entries = [this.#entry(0)];
          else entries.push(this.#entry(entries.length));
          break;
        case LIMIT:
          limit = this.#limit(limit);
          break;
        case OWN_HITS_ADDEND:
          hitsAddend = this.#wrapped(hitsAddend ?? 0, 64);
          break;
        case IS_NEGATIVE_HITS:
          isNegativeHits = reader.bool();
          break;
        default:
          this.#skip(tag, DESCRIPTOR_FIELDS);
      }
    }
    reader.leave(outerEnd);
    return { entries: entries ?? [], limit, hitsAddend, isNegativeHits };
  }

  #entry(index: number): Entry {
    const reader = this.#reader;
    if (index >= this.#options.maxEntries) {
      reader.skip(ENTRY);
      return TOO_MANY_ENTRY;
    }
    const outerEnd = reader.enter();
    let key = "";
    let value = "";
    while (reader.at < reader.end) {
      const tag = reader.tag();
      switch (tag) {
        case KEY:
          key = reader.knownString(this.#known);
          break;
        case VALUE:
          value = reader.string();
          break;
        default:
          this.#skip(tag, ENTRY_FIELDS);
      }
    }
    reader.leave(outerEnd);
    return { key, value };
  }

  /** A second limit of a descriptor is merged into the first: its absent fields change nothing. */
  #limit(earlier: LimitOverride | undefined): LimitOverride {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    let requestsPerUnit = earlier?.requestsPerUnit ?? 0;
    let unit = earlier?.unit ?? 0;
    let unitMultiplier = earlier?.unitMultiplier;
    while (reader.at < reader.end) {
      const tag = reader.tag();
      switch (tag) {
        case REQUESTS_PER_UNIT:
          requestsPerUnit = reader.uint32();
          break;
        case UNIT:
          unit = reader.uint32() | 0; // Enums are signed.
          break;
        case UNIT_MULTIPLIER:
          unitMultiplier = this.#wrapped(unitMultiplier ?? 0, 32);
          break;
        default:
          this.#skip(tag, LIMIT_FIELDS);
      }
    }
    reader.leave(outerEnd);
    return { requestsPerUnit, unit, unitMultiplier };
  }

  /** The number in a wrapper message; `earlier` when it has none. */
  #wrapped(earlier: number, bits: 32 | 64): number {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    let value = earlier;
    while (reader.at < reader.end) {
      const tag = reader.tag();
      if (tag === WRAPPED) value = bits === 32 ? reader.uint32() : reader.uint64();
      else this.#skip(tag, WRAPPER_FIELDS);
    }
    reader.leave(outerEnd);
    return value;
  }

  /** Skips a field that the message does not have. */
  #skip(tag: number, fields: number): void {
    if (tag >>> 3 <= fields) throw new MalformedMessage("a field has another wire type than its own");
    this.#reader.skip(tag);
  }
}
