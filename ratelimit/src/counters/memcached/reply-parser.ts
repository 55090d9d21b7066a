// Parses the bytes of one connection strictly as memcached's text protocol: lines and values. The
// memory between two chunks is bounded, whatever the server sends.

/** Longest line, in bytes without its end: the key of a VALUE line has up to 250. */
const LINE_MAX_BYTES = 1024;

/**
 * Longest value that is read, in bytes. Counters are numbers of up to 20 digits; a longer value is
 * skipped.
 */
const VALUE_MAX_BYTES = 64;

/**
 * Largest item that a server can store, in bytes (memcached -I allows up to 1 GiB).
 */
const ITEM_MAX_BYTES = 2 ** 30;

const CR = 0x0d;
const LF = 0x0a;

/** `VALUE <key> <flags> <bytes>`, possibly followed by the unique number of `gets`. */
const VALUE_LINE = /^VALUE ([^ ]+) (\d{1,10}) (\d{1,10})(?: \d{1,20})?$/;

/** The server sent bytes that are not memcached's protocol, or that answer nothing that was asked. */
export class ProtocolError extends Error {}

/** The error of an item that no command asked for. */
export function unaskedItem(key: string): ProtocolError {
  return new ProtocolError(`the item ${excerpt(key)} was not asked for`);
}

/** Receives items and lines. Throws a ProtocolError when one is wrong. */
export interface ReplyListener {
  /** An item of a get. `data` is undefined when the value is longer than a counter can be. */
  value(key: string, data: string | undefined): void;
  /** A line that does not begin an item. */
  line(line: string): void;
}

/** An item whose value is incomplete. */
interface OpenItem {
  readonly key: string;
  readonly sizeBytes: number;
  /** Bytes that are missing, the end of the line included. */
  remainingBytes: number;
}

/** The parser of one connection. */
export class ReplyParser {
  readonly #listener: ReplyListener;
  /** The beginning of a line or of a short value, from earlier chunks. */
  #kept: Buffer = Buffer.alloc(0);
  #item: OpenItem | undefined;

  constructor(listener: ReplyListener) {
    this.#listener = listener;
  }

  /** Parses the next bytes. Throws a ProtocolError, after which the parser cannot be used. */
  push(chunk: Buffer): void {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const next = this.#item === undefined ? this.#takeLine(bytes, at) : this.#takeData(this.#item, bytes, at);
      if (next === undefined) break;
      at = next;
    }
    // A copy: a slice would keep the whole chunk in memory.
    this.#kept = Buffer.from(bytes.subarray(at));
  }

  /** The end of the line; undefined when the line is incomplete. */
  #takeLine(bytes: Buffer, at: number): number | undefined {
    const end = bytes.indexOf(LF, at);
    if ((end === -1 ? bytes.length : end) - at > LINE_MAX_BYTES + 1)
      throw new ProtocolError(`a line is longer than ${LINE_MAX_BYTES} bytes`);
    if (end === -1) return undefined;
    if (end === at || bytes[end - 1] !== CR) throw new ProtocolError("a line does not end in CR LF");
    const line = bytes.toString("utf8", at, end - 1);
    if (line.startsWith("VALUE ")) this.#beginItem(line);
    else this.#listener.line(line);
    return end + 1;
  }

  #beginItem(line: string): void {
    const match = VALUE_LINE.exec(line);
    const sizeBytes = Number(match?.[3]);
    if (match === null || sizeBytes > ITEM_MAX_BYTES) throw new ProtocolError(`an item begins with ${excerpt(line)}`);
    this.#item = { key: match[1] ?? "", sizeBytes, remainingBytes: sizeBytes + 2 };
  }

  /** The end of the value or of its part; undefined when a short value is incomplete. */
  #takeData(item: OpenItem, bytes: Buffer, at: number): number | undefined {
    const available = bytes.length - at;
    const isLong = item.sizeBytes > VALUE_MAX_BYTES;
    // A long value is skipped up to the end of its line, so that none of it is kept.
    if (isLong && item.remainingBytes > 2) {
      const skipped = Math.min(available, item.remainingBytes - 2);
      item.remainingBytes -= skipped;
      return at + skipped;
    }
    if (available < item.remainingBytes) return undefined;
    const end = at + item.remainingBytes;
    if (bytes[end - 2] !== CR || bytes[end - 1] !== LF)
      throw new ProtocolError(`the value of ${excerpt(item.key)} does not end in CR LF`);
    this.#item = undefined;
    this.#listener.value(item.key, isLong ? undefined : bytes.toString("latin1", at, end - 2));
    return end;
  }
}

/** Foreign text for a message: short, in quotes, control characters visible. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
