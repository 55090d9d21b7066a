// Reads version and nonce of the responses of an ADS stream and skips their resources, so that a
// thousand streams in one process are no bottleneck.

/** A response that has passed. */
export interface SeenResponse {
  readonly version: string;
  readonly nonce: string;
  /** Size of the whole message. */
  readonly sizeBytes: number;
}

/** Bytes in front of each message: the compression flag and the length. */
const PREFIX_BYTES = 5;

/** Field numbers of envoy.service.discovery.v3.DiscoveryResponse. */
const FIELD = { version: 1, nonce: 5 } as const;

/** All fields that are ever set are strings, bytes and messages: a length, then so many bytes. */
const LENGTH_DELIMITED = 2;

/**
 * Cuts the DATA of one stream into responses; calls `onResponse` for each when its last byte has
 * come.
 */
export function createResponseReader(onResponse: (response: SeenResponse) => void): (chunk: Buffer) => void {
  const reader = new ResponseReader(onResponse);
  return (chunk) => reader.feed(chunk);
}

class ResponseReader {
  readonly #onResponse: (response: SeenResponse) => void;
  /**
   * Bytes of a head or of a wanted field that has not come wholly; never more than such a field.
   */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of the message that are still to come; undefined between two messages. */
  #left: number | undefined;
  /** Of those, bytes of a field to skip. */
  #skip = 0;
  #sizeBytes = 0;
  #version = "";
  #nonce = "";

  constructor(onResponse: (response: SeenResponse) => void) {
    this.#onResponse = onResponse;
  }

  feed(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const used = this.#step(bytes);
      if (used === undefined) break;
      bytes = bytes.subarray(used);
    }
    this.#rest = Buffer.from(bytes); // A copy: the chunk belongs to the connection.
  }

  /** Reads the next part and returns its length; undefined when more bytes are needed. */
  #step(bytes: Buffer): number | undefined {
    if (this.#left === undefined) return this.#begin(bytes);
    if (this.#left === 0) return this.#finish();
    if (this.#skip === 0) return this.#field(bytes, this.#left);
    if (bytes.length === 0) return undefined;
    const skipped = Math.min(this.#skip, bytes.length);
    this.#skip -= skipped;
    this.#left -= skipped;
    return skipped;
  }

  #begin(bytes: Buffer): number | undefined {
    if (bytes.length < PREFIX_BYTES) return undefined;
    this.#left = this.#sizeBytes = bytes.readUInt32BE(1);
    return PREFIX_BYTES;
  }

  #finish(): number {
    this.#left = undefined;
    const response = { version: this.#version, nonce: this.#nonce, sizeBytes: this.#sizeBytes };
    this.#version = this.#nonce = "";
    this.#onResponse(response);
    return 0;
  }

  #field(bytes: Buffer, left: number): number | undefined {
    const tag = readVarint(bytes, 0);
    const length = tag === undefined ? undefined : readVarint(bytes, tag.end);
    if (tag === undefined || length === undefined) return undefined;
    if ((tag.value & 7) !== LENGTH_DELIMITED)
      throw new RangeError(`A response holds a field of wire type ${tag.value & 7}`);
    const number = tag.value >>> 3;
    const end = length.end + length.value;
    if (end > left) throw new RangeError("A response holds a field that is longer than the response");
    if (number !== FIELD.version && number !== FIELD.nonce) {
      this.#skip = length.value;
      this.#left = left - length.end;
      return length.end;
    }
    if (bytes.length < end) return undefined;
    const text = bytes.toString("utf8", length.end, end);
    if (number === FIELD.version) this.#version = text;
    else this.#nonce = text;
    this.#left = left - end;
    return end;
  }
}

/** A variable-length number of at most 32 bits; undefined when its last byte has not come. */
function readVarint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 5; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  throw new RangeError("A response holds a number of more than 32 bits");
}
