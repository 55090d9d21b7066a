// Sound sessions of a client in random frames: nothing in them is worse than a malformed call.
import {
  type ExtraFields,
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  hpackString,
  literalBlock,
  requestBlock,
  resetFrame,
  settingsFrame,
  uint32,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";
import type { Random } from "@weir/harness/processes/random";

/** Values on which windows and sizes turn. */
export const NUMBERS = [0, 1, 2, 100, 4096, 16_383, 16_384, 65_535, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;

/** Header fields that mean something to the server, in good and in bad forms. */
const FIELDS = Object.entries({
  "grpc-timeout": ["1S", "0n", "300m", "99999999H", "99999999999H", "-1x"],
  "grpc-encoding": ["identity", "gzip", "deflate", "snappy"],
  "grpc-accept-encoding": ["gzip, ,x"],
  "content-type": ["application/grpc+proto", "text/plain"],
  "content-length": ["0", "3", "8", "-8"],
  te: ["gzip"],
  connection: ["close"],
  ":status": ["200"],
  ":method": ["GET", "HEAD", "CONNECT"],
  ":scheme": [""],
  ":path": ["", "*", "/x", "/fuzz.Service/Unknown"],
  ":authority": ["a@b"],
  cookie: ["a=b; c"],
  UPPER: ["case"],
  "a b": ["c"],
  x: ["\u0000", " y", "\u0000\r\n"],
  "": ["y"],
  "x-bin": ["%%%", "AAA"],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-zz"],
}).flatMap(([name, values]) => values.map((value) => [name, value] as const));

/** The paths and messages of which calls are made. */
export interface FuzzedCalls {
  readonly paths: readonly string[];
  /** Messages, sound or not. */
  readonly message: (random: Random) => Buffer;
}

/** A session, frame by frame. */
export class RandomSession {
  readonly #random: Random;
  readonly #calls: FuzzedCalls;
  #nextId = 1;
  /** Streams that the client has opened and not ended. */
  #open: number[] = [];
  /** Entries that the client has put into the server's table. */
  #entries = 0;

  constructor(random: Random, calls: FuzzedCalls) {
    this.#random = random;
    this.#calls = calls;
  }

  frames(steps: number): readonly Buffer[] {
    return [this.#settings(), ...Array.from({ length: steps }, () => this.#step()).flat()];
  }

  #step(): readonly Buffer[] {
    const random = this.#random;
    if (this.#open.length === 0) return random.oneIn(2) ? this.#openStream() : this.#call({});
    const id = random.pick(this.#open);
    switch (random.below(14)) {
      case 0:
        return this.#call(Object.fromEntries(Array.from({ length: random.between(1, 3) }, () => random.pick(FIELDS))));
      case 1:
        return this.#openStream();
      case 2:
      case 3:
        return this.#data(id, random.oneIn(2));
      case 4:
        return [
          windowUpdate(random.oneIn(9) ? random.pick(NUMBERS) : random.between(1, 5000), random.oneIn(2) ? 0 : id),
        ];
      case 5:
        return [resetFrame(this.#ended(id), random.below(16))];
      case 6:
        return [random.oneIn(6) ? frame(FRAME.SETTINGS, FLAG.ACK, 0) : this.#settings()];
      case 7:
        return Array<Buffer>(random.oneIn(4) ? random.below(40) : 1).fill(
          frame(FRAME.PING, random.below(2), 0, random.bytes(8)),
        );
      case 8:
        return [
          frame(
            FRAME.PRIORITY,
            0,
            id,
            Buffer.concat([uint32(random.oneIn(40) ? id : this.#nextId + 100), random.bytes(1)]),
          ),
        ];
      case 9:
        return this.#headers(this.#ended(id), FLAG.END_STREAM, literalBlock([["x-checksum", "1"]]));
      case 10:
        return random.oneIn(4) ? [frame(FRAME.GOAWAY, 0, 0, random.bytes(8))] : this.#call({});
      default:
        return this.#call({});
    }
  }

  /** A whole call: HEADERS and DATA. */
  #call(fields: ExtraFields): readonly Buffer[] {
    const id = this.#newId();
    return [...this.#headers(id, 0, this.#request(fields)), ...this.#data(id, true)];
  }

  #openStream(): readonly Buffer[] {
    const id = this.#newId();
    if (!this.#random.oneIn(6)) return this.#headers(id, 0, this.#request({}));
    return this.#headers(this.#ended(id), FLAG.END_STREAM, this.#request({}));
  }

  /** A header block of a request: changes of the table, literals, and entries of the table. */
  #request(fields: ExtraFields): Buffer {
    const random = this.#random;
    const parts: Buffer[] = [];
    const isEmptied = random.oneIn(12);
    if (isEmptied) {
      parts.push(Buffer.from([0x20])); // A table of 0 bytes, then of 4,096 again.
      this.#entries = 0;
    }
    if (isEmptied || random.oneIn(8)) parts.push(Buffer.from([0x3f, 0xe1, random.oneIn(40) ? 0x3f : 0x1f]));
    parts.push(requestBlock(random.pick(this.#calls.paths), fields));
    while (random.oneIn(2)) {
      if (random.oneIn(2)) {
        const name = random.oneIn(8) ? random.pick(FIELDS)[0] : "x-a";
        const value = hpackString(random.bytes(random.below(30)).toString("hex"));
        if (random.oneIn(40)) value[0]! |= 0x80; // Said to be of Huffman code.
        parts.push(Buffer.from([0x40]), hpackString(name), value);
        this.#entries++;
      } else if (this.#entries > 0 || random.oneIn(40))
        parts.push(Buffer.from([0x80 | (62 + random.below(this.#entries + (random.oneIn(40) ? 1 : 0)))]));
    }
    return Buffer.concat(parts);
  }

  /** HEADERS, with everything that they may have, in one frame or several. */
  #headers(id: number, flags: number, block: Buffer): readonly Buffer[] {
    const random = this.#random;
    if (random.oneIn(8)) {
      const at = random.below(block.length + 1);
      const middle = random.oneIn(3) ? [frame(FRAME.CONTINUATION, 0, id)] : [];
      const first = frame(FRAME.HEADERS, flags, id, block.subarray(0, at));
      return [first, ...middle, frame(FRAME.CONTINUATION, FLAG.END_HEADERS, id, block.subarray(at))];
    }
    if (!random.oneIn(12)) return [this.#maybePadded(FRAME.HEADERS, flags | FLAG.END_HEADERS, id, block)];
    const priority = Buffer.concat([uint32(random.oneIn(40) ? id : 0), Buffer.from([16])]);
    const allFlags = flags | FLAG.END_HEADERS | FLAG.PRIORITY;
    return [this.#maybePadded(FRAME.HEADERS, allFlags, id, Buffer.concat([priority, block]))];
  }

  /** DATA: a message, a part of one, several, or none. */
  #data(id: number, isLast: boolean): readonly Buffer[] {
    const random = this.#random;
    const flags = isLast ? FLAG.END_STREAM : 0;
    if (isLast) this.#ended(id);
    const message = grpcMessage(this.#calls.message(random), random.oneIn(15) ? 1 : 0);
    const at = random.below(message.length);
    switch (random.below(10)) {
      case 0:
        return [frame(FRAME.DATA, flags, id)];
      case 1:
        return [frame(FRAME.DATA, flags, id, message.subarray(0, at))];
      case 2:
        return [frame(FRAME.DATA, flags, id, Buffer.concat([message, message]))];
      case 3: {
        const between = random.oneIn(4) ? this.#step() : [];
        const first = frame(FRAME.DATA, 0, id, message.subarray(0, at));
        return [first, ...between, frame(FRAME.DATA, flags, id, message.subarray(at))];
      }
      default:
        return [this.#maybePadded(FRAME.DATA, flags, id, message)];
    }
  }

  #maybePadded(type: number, flags: number, id: number, payload: Buffer): Buffer {
    if (!this.#random.oneIn(10)) return frame(type, flags, id, payload);
    const padding = this.#random.below(20);
    return frame(
      type,
      flags | FLAG.PADDED,
      id,
      Buffer.concat([Buffer.from([padding]), payload, Buffer.alloc(padding)]),
    );
  }

  #settings(): Buffer {
    const random = this.#random;
    const values = [0, random.below(5000), random.below(2), 1000, random.below(100_000), 16_384, 65_536];
    const ids = Array.from({ length: random.below(4) }, () => random.between(1, random.oneIn(8) ? 10 : 6));
    return settingsFrame(...ids.map((id) => [id, values[id] ?? random.pick(NUMBERS)] as const));
  }

  #newId(): number {
    const id = this.#nextId;
    this.#nextId += this.#random.oneIn(20) ? 4 : 2;
    this.#open.push(id);
    return id;
  }

  /** Notes that the client ends a stream. */
  #ended(id: number): number {
    this.#open = this.#open.filter((open) => open !== id);
    return id;
  }
}
