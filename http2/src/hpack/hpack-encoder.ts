// Encodes the header blocks of a gRPC server (RFC 7541).

/** The table's size until the peer announces another (RFC 9113, 6.5.2). We never use more. */
const TABLE_DEFAULT_BYTES = 4096;

/** The bytes of our two entries, "content-type: application/grpc" and "grpc-status: 0". */
const TABLE_NEEDED_BYTES = 12 + 16 + 32 + (11 + 1 + 32);

/** Indexes of the static table. */
const STATIC_STATUS_200 = 8;
const STATIC_STATUS = 14;
const STATIC_CONTENT_TYPE = 31;
const FIRST_DYNAMIC = 62;

/** First bits of a field's representations, and the largest number in the bits that remain. */
const INDEXED = { bits: 0x80, prefix: 0x7f } as const;
const INSERTED = { bits: 0x40, prefix: 0x3f } as const;
const LITERAL = { bits: 0x00, prefix: 0x0f } as const;
const TABLE_UPDATE = { bits: 0x20, prefix: 0x1f } as const;
const STRING = { bits: 0x00, prefix: 0x7f } as const;

const CONTENT_TYPE = Buffer.from("application/grpc");
const GRPC_STATUS = Buffer.from("grpc-status");
const ZERO = Buffer.from("0");

/**
 * The encoder of one connection. Every method writes into `target` from `offset` on and returns the
 * offset after its last byte; the caller provides room for the bytes that each names.
 */
export class HpackEncoder {
  /** The size that the peer's table has; 0 when it is too small for our entries. */
  #tableBytes = TABLE_DEFAULT_BYTES;
  /** The size it is to have, and the smallest since the last block (RFC 7541, 4.2). */
  #nextBytes = TABLE_DEFAULT_BYTES;
  #smallestBytes = TABLE_DEFAULT_BYTES;
  /** Entries that we inserted, and what their number was when each of the two was. */
  #inserted = 0;
  #contentTypeAt = -1;
  #grpcStatusAt = -1;

  /** Follows the peer's SETTINGS_HEADER_TABLE_SIZE; the next block announces what changes. */
  setTableMaxBytes(bytes: number): void {
    this.#nextBytes = bytes < TABLE_NEEDED_BYTES ? 0 : Math.min(bytes, TABLE_DEFAULT_BYTES);
    this.#smallestBytes = Math.min(this.#smallestBytes, this.#nextBytes);
  }

  /** A whole block: ":status: 200", "content-type: application/grpc". At most 40 bytes. */
  responseHeaders(target: Buffer, offset: number): number {
    const at = this.begin(target, offset);
    target[at] = INDEXED.bits | STATIC_STATUS_200;
    return this.grpcContentType(target, at + 1);
  }

  /** A whole block: "grpc-status: 0". At most 24 bytes. */
  okTrailers(target: Buffer, offset: number): number {
    const at = this.begin(target, offset);
    if (this.#grpcStatusAt >= 0) {
      target[at] = this.#indexed(this.#grpcStatusAt);
      return at + 1;
    }
    const isInserted = this.#tableBytes > 0;
    if (isInserted) this.#grpcStatusAt = this.#inserted++;
    target[at] = isInserted ? INSERTED.bits : LITERAL.bits;
    return writeString(target, writeString(target, at + 1, GRPC_STATUS), ZERO);
  }

  /** Begins any other block; fields follow. At most 6 bytes. */
  begin(target: Buffer, offset: number): number {
    return this.#smallestBytes === this.#tableBytes && this.#nextBytes === this.#tableBytes
      ? offset
      : this.#announceTable(target, offset);
  }

  /** The field ":status", from 100 to 999. At most 5 bytes. */
  status(target: Buffer, offset: number, code: number): number {
    if (code === 200) {
      target[offset] = INDEXED.bits | STATIC_STATUS_200;
      return offset + 1;
    }
    const at = writeInteger(target, offset, LITERAL, STATIC_STATUS);
    target[at] = 3;
    return at + 1 + target.write(String(code), at + 1, 3, "latin1");
  }

  /** The field "content-type: application/grpc". At most 32 bytes. */
  grpcContentType(target: Buffer, offset: number): number {
    if (this.#contentTypeAt >= 0) {
      target[offset] = this.#indexed(this.#contentTypeAt);
      return offset + 1;
    }
    const isInserted = this.#tableBytes > 0;
    if (isInserted) this.#contentTypeAt = this.#inserted++;
    const at = writeInteger(target, offset, isInserted ? INSERTED : LITERAL, STATIC_CONTENT_TYPE);
    return writeString(target, at, CONTENT_TYPE);
  }

  /**
   * Any other field, not inserted into the table: the name in lower case, both of octets. At most 13
   * bytes more than both.
   */
  field(target: Buffer, offset: number, name: string, value: string): number {
    target[offset] = LITERAL.bits;
    return writeLatin1(target, writeLatin1(target, offset + 1, name), value);
  }

  /** Announces the smallest size since the last block, then the one that is to be (RFC 7541, 4.2). */
  #announceTable(target: Buffer, offset: number): number {
    let at = offset;
    if (this.#smallestBytes < this.#tableBytes) {
      at = writeInteger(target, at, TABLE_UPDATE, this.#smallestBytes);
      if (this.#smallestBytes === 0) {
        this.#inserted = 0;
        this.#contentTypeAt = -1;
        this.#grpcStatusAt = -1;
      }
    }
    if (this.#nextBytes > this.#smallestBytes) at = writeInteger(target, at, TABLE_UPDATE, this.#nextBytes);
    this.#tableBytes = this.#nextBytes;
    this.#smallestBytes = this.#nextBytes;
    return at;
  }

  /** The octet that refers to our entry with this number. */
  #indexed(number: number): number {
    return INDEXED.bits | (FIRST_DYNAMIC + this.#inserted - 1 - number);
  }
}

interface Representation {
  readonly bits: number;
  readonly prefix: number;
}

function writeInteger(target: Buffer, offset: number, { bits, prefix }: Representation, value: number): number {
  if (value < prefix) {
    target[offset] = bits | value;
    return offset + 1;
  }
  target[offset] = bits | prefix;
  let at = offset + 1;
  let rest = value - prefix;
  for (; rest >= 0x80; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80;
  target[at] = rest;
  return at + 1;
}

function writeString(target: Buffer, offset: number, bytes: Buffer): number {
  const at = writeInteger(target, offset, STRING, bytes.length);
  for (let index = 0; index < bytes.length; index++) target[at + index] = bytes[index] ?? 0;
  return at + bytes.length;
}

function writeLatin1(target: Buffer, offset: number, text: string): number {
  const at = writeInteger(target, offset, STRING, text.length);
  return at + target.write(text, at, text.length, "latin1");
}
