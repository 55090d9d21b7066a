// Parses the replies of a server, RESP2, from the chunks in which they arrive:
// https://redis.io/docs/latest/develop/reference/protocol-spec/.
import { type Reply, ReplyError } from "./reply.ts";

/** Longest line: a number, the text of a status or an error. */
const LINE_MAX_BYTES = 64 * 1024;

/** Longest reply, lists with all their elements: the slots of the largest cluster take a few MB. */
const REPLY_MAX_BYTES = 8 * 1024 * 1024;

/** Deepest nesting of lists; CLUSTER SLOTS has four levels. */
const DEPTH_MAX = 8;

/** Digits of a number that is exact in double precision however it is computed. */
const EXACT_DIGITS = 15;

/** Digits of the largest number in Redis, 64 bits with a sign. */
const DIGITS_MAX = 19;

const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const MINUS = 0x2d;
const PLUS = 0x2b;
const COLON = 0x3a;
const DOLLAR = 0x24;
const STAR = 0x2a;

/** Result of a step: more bytes are needed, or there is nothing more to parse. */
const STOP = -1;

/** Takes what a parser has found. */
export interface ReplyHandler {
  /** One whole reply. */
  reply(reply: Reply): void;
  /** Bytes that are no reply; the parser parses nothing more. */
  malformed(reason: string): void;
}

/** A list of which elements are missing. */
interface OpenList {
  readonly items: Reply[];
  missing: number;
}

/** The parser of one connection. */
export class ReplyParser {
  readonly #handler: ReplyHandler;
  /** The beginning of an element that is incomplete, in pieces. */
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  /** Number of bytes that the pieces need to have before parsing them can succeed. */
  #neededBytes = 0;
  /** True if they need a CR, too. */
  #needsCr = false;
  /** Lists around the next element, outermost first. */
  readonly #lists: OpenList[] = [];
  /** Bytes of the elements of these lists so far. */
  #listsBytes = 0;
  #isStopped = false;

  constructor(handler: ReplyHandler) {
    this.#handler = handler;
  }

  /** Parses no more, not even the rest of the current chunk. */
  stop(): void {
    this.#isStopped = true;
    this.#pieces = [];
    this.#piecesBytes = 0;
  }

  /** Parses the first `length` bytes of a chunk; the caller may reuse its memory afterwards. */
  parse(chunk: Buffer, length: number): void {
    if (this.#isStopped) return;
    let bytes = chunk;
    let end = length;
    if (this.#piecesBytes > 0) {
      this.#keep(chunk, 0, length);
      if (this.#piecesBytes < this.#neededBytes) return;
      if (this.#needsCr && this.#piecesBytes < LINE_MAX_BYTES && !this.#pieces.at(-1)?.includes(CR)) return;
      bytes = Buffer.concat(this.#pieces, this.#piecesBytes);
      end = this.#piecesBytes;
      this.#pieces = [];
      this.#piecesBytes = 0;
    }
    let at = 0;
    while (at < end) {
      const next =
        bytes[at] === COLON && this.#lists.length === 0
          ? this.#parseNumber(bytes, at, end)
          : this.#parseElement(bytes, at, end);
      if (next === STOP) break;
      at = next;
    }
    if (at < end) this.#keep(bytes, at, end);
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.#isStopped) return;
    this.#pieces.push(Buffer.from(bytes.subarray(from, to)));
    this.#piecesBytes += to - from;
  }

  /** Parses `:<number>\r\n` without a string; returns where it ends, or STOP. */
  #parseNumber(bytes: Buffer, from: number, end: number): number {
    const isNegative = bytes[from + 1] === MINUS;
    const first = isNegative ? from + 2 : from + 1;
    let at = first;
    let value = 0;
    for (; at < end; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - first;
    if (digits > DIGITS_MAX) return this.#malformed("a number is too long");
    if (at + 1 >= end) {
      if (at < end && bytes[at] !== CR) return this.#malformed("a number has other characters than digits");
      return this.#await(end - from + 1);
    }
    if (digits === 0 || bytes[at] !== CR || bytes[at + 1] !== LF)
      return this.#malformed("a number has other characters than digits");
    if (digits > EXACT_DIGITS) value = Number(bytes.toString("latin1", first, at));
    return this.#found(isNegative && value > 0 ? -value : value, from, at + 2);
  }

  #parseElement(bytes: Buffer, from: number, end: number): number {
    const type = bytes[from];
    if (type === COLON) return this.#parseNumber(bytes, from, end);
    if (type !== PLUS && type !== MINUS && type !== DOLLAR && type !== STAR)
      return this.#malformed(`a reply begins with the byte ${type}`);
    const cr = bytes.subarray(0, Math.min(end, from + LINE_MAX_BYTES)).indexOf(CR, from);
    if (cr === -1 && end - from >= LINE_MAX_BYTES) return this.#malformed("a line is too long");
    if (cr === -1 || cr + 1 >= end) return this.#await(end - from + 1, cr === -1);
    if (bytes[cr + 1] !== LF) return this.#malformed("a line does not end with CR and LF");
    const line = bytes.toString("utf8", from + 1, cr);
    if (type === PLUS) return this.#found(line, from, cr + 2);
    if (type === MINUS) return this.#found(new ReplyError(line), from, cr + 2);
    const size = sizeIn(line);
    if (size === undefined) return this.#malformed("a size is no number");
    if (size === null) return this.#found(null, from, cr + 2);
    return type === DOLLAR
      ? this.#parseText(bytes, { from, start: cr + 2, size, end })
      : this.#openList(from, cr + 2, size);
  }

  /** Parses the text of `$<size>\r\n<text>\r\n`, a character for each byte: the numbers of a cell are no UTF-8. */
  #parseText(
    bytes: Buffer,
    {
      from,
      start,
      size,
      end,
    }: { readonly from: number; readonly start: number; readonly size: number; readonly end: number },
  ): number {
    if (size > REPLY_MAX_BYTES) return this.#malformed("a text is too long");
    const close = start + size;
    if (close + 2 > end) return this.#await(close + 2 - from);
    if (bytes[close] !== CR || bytes[close + 1] !== LF) return this.#malformed("a text does not end with CR and LF");
    return this.#found(bytes.toString("latin1", start, close), from, close + 2);
  }

  #openList(from: number, to: number, size: number): number {
    if (size === 0) return this.#found([], from, to);
    if (this.#lists.length >= DEPTH_MAX) return this.#malformed("lists are nested too deeply");
    this.#lists.push({ items: [], missing: size });
    return this.#count(from, to);
  }

  /** Adds an element to the innermost list, or hands it over as a reply. */
  #found(value: Reply, from: number, to: number): number {
    if (this.#lists.length === 0) {
      this.#handler.reply(value);
      return this.#isStopped ? STOP : to;
    }
    let element = value;
    for (let list = this.#lists.at(-1); list !== undefined; list = this.#lists.at(-1)) {
      list.items.push(element);
      list.missing -= 1;
      if (list.missing > 0) return this.#count(from, to);
      element = list.items;
      this.#lists.pop();
    }
    this.#listsBytes = 0;
    this.#handler.reply(element);
    return this.#isStopped ? STOP : to;
  }

  /** Counts the bytes of an element of a list. */
  #count(from: number, to: number): number {
    this.#listsBytes += to - from;
    return this.#listsBytes > REPLY_MAX_BYTES ? this.#malformed("a list is too long") : to;
  }

  #await(neededBytes: number, needsCr = false): number {
    this.#neededBytes = neededBytes;
    this.#needsCr = needsCr;
    return STOP;
  }

  #malformed(reason: string): number {
    this.stop();
    this.#handler.malformed(reason);
    return STOP;
  }
}

/** The size in the line of a text or a list: null for -1, no value. */
function sizeIn(line: string): number | null | undefined {
  if (line === "-1") return null;
  return /^\d{1,10}$/.test(line) ? Number(line) : undefined;
}
