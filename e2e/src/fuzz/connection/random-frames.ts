// Random sessions of a client, frame by frame: some with nothing worse than malformed calls, some
// with frames that are wrong in type, flags, stream, length, order or content.
import type { Random } from "@weir/harness/processes/random";
import { mutate } from "../mutation.ts";
import { frame, PREFACE } from "@weir/harness/http2/http2-frames";
import { type Field, PATHS, requestBlock, text } from "./fuzzed-methods.ts";

const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;

const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const WITH_PRIORITY = 0x20;

/** Most frames, or groups of frames, of one session. */
const STEPS_MAX = 14;

/** Values on which windows and sizes turn. */
const NUMBERS = [0, 1, 2, 100, 4096, 16_383, 16_384, 65_535, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;

/** Header fields that mean something to the server, in good and in bad forms. */
const FIELDS: readonly [Field, ...Field[]] = [
  ["grpc-timeout", "1S"],
  ["grpc-timeout", "0n"],
  ["grpc-timeout", "300m"],
  ["grpc-timeout", "99999999H"],
  ["grpc-timeout", "x"],
  ["grpc-encoding", "identity"],
  ["grpc-encoding", "gzip"],
  ["content-type", "application/grpc+proto"],
  ["content-type", "text/plain"],
  ["content-length", "0"],
  ["content-length", "8"],
  ["content-length", "-8"],
  ["te", "gzip"],
  ["connection", "close"],
  [":status", "200"],
  [":method", "GET"],
  [":method", "HEAD"],
  [":method", "CONNECT"],
  [":scheme", ""],
  [":path", ""],
  [":authority", "a@b"],
  ["UPPER", "case"],
  ["a b", "c"],
  ["x", "\u0000"],
  ["x", " y"],
  ["", "y"],
  ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
];

/** One session. */
export class RandomFrames {
  readonly #random: Random;
  /** Whether the connection may be treated wrongly, and not only its streams. */
  readonly #isWild: boolean;
  #nextId = 1;
  /** Streams that the client has opened and not ended. */
  #open: number[] = [];
  /** Entries that the client has put into the server's table. */
  #entries = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#isWild = random.oneIn(2);
  }

  /** All its bytes. */
  session(): Buffer {
    const parts: Buffer[] = [];
    if (this.#isOdd(50)) return Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "latin1");
    if (!this.#isOdd(50)) parts.push(PREFACE);
    if (!this.#isOdd(50)) parts.push(this.#settings(true));
    for (let steps = this.#random.between(1, STEPS_MAX); steps > 0; steps--) parts.push(this.#step());
    const bytes = Buffer.concat(parts);
    return this.#random.oneIn(20) ? bytes.subarray(0, this.#random.below(bytes.length)) : bytes;
  }

  #step(): Buffer {
    const random = this.#random;
    if (this.#open.length === 0 && !this.#isOdd(3)) return random.oneIn(2) ? this.#openStream() : this.#call([]);
    switch (random.below(16)) {
      case 0:
      case 1:
      case 2:
        return this.#call([]);
      case 3:
        return this.#call(Array.from({ length: random.between(1, 3) }, () => random.pick(FIELDS)));
      case 4:
        return this.#openStream();
      case 5:
      case 6:
        return this.#data(this.#anyId(), random.oneIn(2));
      case 7:
        return this.#windowUpdate();
      case 8:
        return this.#ended(this.#anyId(), (id) => frame(RST_STREAM, 0, id, uint32(random.below(16))));
      case 9:
        return this.#settings();
      case 10:
        return frame(PING, random.below(2), 0, random.bytes(8));
      case 11:
        return this.#priority(this.#anyId());
      case 12: // Trailers.
        return this.#ended(this.#anyId(), (id) => this.#headers(id, END_STREAM, block([["x-checksum", "1"]])));
      case 13:
        return random.oneIn(4) ? frame(GOAWAY, 0, 0, random.bytes(8)) : this.#call([]);
      case 14:
        return this.#repeated();
      default:
        return this.#isWild ? this.#anyFrame() : this.#call([]);
    }
  }

  /** Once in `times`, but only in a wild session. */
  #isOdd(times: number): boolean {
    return this.#isWild && this.#random.oneIn(times);
  }

  /** A whole call: HEADERS and DATA. */
  #call(fields: readonly Field[]): Buffer {
    const headers = this.#headers(this.#newId(), 0, this.#request(fields));
    return Buffer.concat([headers, this.#data(this.#open.at(-1) ?? 1, true)]);
  }

  #openStream(): Buffer {
    const request = this.#request([]);
    if (!this.#random.oneIn(6)) return this.#headers(this.#newId(), 0, request);
    return this.#ended(this.#newId(), (id) => this.#headers(id, END_STREAM, request));
  }

  #windowUpdate(): Buffer {
    const random = this.#random;
    const increment = this.#isWild ? random.pick(NUMBERS) : random.between(1, 5000);
    return frame(WINDOW_UPDATE, 0, random.oneIn(2) ? 0 : this.#anyId(), uint32(increment));
  }

  #priority(id: number): Buffer {
    const dependency = this.#isOdd(4) ? id : this.#nextId + 100;
    return frame(PRIORITY, 0, id, Buffer.concat([uint32(dependency), this.#random.bytes(1)]));
  }

  /** A header block of a request: literals, entries of the table, and sometimes damage. */
  #request(fields: readonly Field[]): Buffer {
    const random = this.#random;
    let request = requestBlock([[":path", random.pick(PATHS)], ...fields]);
    const before: Buffer[] = [];
    if (random.oneIn(12)) {
      before.push(Buffer.from([0x20])); // A table of 0 bytes, then of 4,096 again.
      this.#entries = 0;
    }
    if (before.length > 0 || random.oneIn(8)) before.push(Buffer.from([0x3f, 0xe1, this.#isOdd(8) ? 0x3f : 0x1f]));
    if (this.#isOdd(12)) request = mutate(random, request, random.between(1, 3)).subarray(0, 20_000);
    const after: Buffer[] = [];
    while (random.oneIn(2)) {
      if (random.oneIn(2)) {
        after.push(Buffer.from([0x40]), text(this.#isOdd(4) ? random.pick(FIELDS)[0] : "x-a"), this.#value());
        this.#entries++;
      } else if (this.#entries > 0 || this.#isOdd(8))
        after.push(Buffer.from([0x80 | (62 + random.below(this.#entries + (this.#isOdd(8) ? 1 : 0)))]));
    }
    return Buffer.concat([...before, request, ...after]);
  }

  /** A string, plain or of random Huffman code. */
  #value(): Buffer {
    const bytes = this.#random.bytes(this.#random.below(30));
    return this.#isOdd(8) ? Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]) : text(bytes.toString("hex"));
  }

  /** HEADERS, with everything that they may have, in one frame or several. */
  #headers(id: number, flags: number, headerBlock: Buffer): Buffer {
    const random = this.#random;
    if (random.oneIn(8)) {
      const at = random.below(headerBlock.length + 1);
      const middle = random.oneIn(3) ? [frame(CONTINUATION, 0, id)] : [];
      if (this.#isOdd(10)) middle.push(this.#step());
      return Buffer.concat([
        frame(HEADERS, flags, id, headerBlock.subarray(0, at)),
        ...middle,
        frame(CONTINUATION, END_HEADERS, this.#isOdd(10) ? id + 2 : id, headerBlock.subarray(at)),
      ]);
    }
    let payload = headerBlock;
    let allFlags = flags | END_HEADERS;
    if (random.oneIn(12)) {
      payload = Buffer.concat([uint32(this.#isOdd(8) ? id : 0), Buffer.from([16]), payload]);
      allFlags |= WITH_PRIORITY;
    }
    return this.#maybePadded(HEADERS, allFlags, id, payload);
  }

  /** DATA: a message, a part of one, several, or none. */
  #data(id: number, isLast: boolean): Buffer {
    if (isLast) return this.#ended(id, (ended) => this.#content(ended, END_STREAM));
    return this.#content(id, 0);
  }

  #content(id: number, flags: number): Buffer {
    const random = this.#random;
    const content = random.bytes(random.oneIn(12) ? random.below(3000) : random.below(40));
    const message = Buffer.concat([Buffer.from([random.oneIn(15) ? 1 : 0]), uint32(content.length), content]);
    switch (random.below(10)) {
      case 0:
        return frame(DATA, flags, id);
      case 1:
        return frame(DATA, flags, id, message.subarray(0, random.below(message.length)));
      case 2:
        return frame(DATA, flags, id, Buffer.concat([message, message]));
      case 3: {
        const at = random.below(message.length);
        return Buffer.concat([
          frame(DATA, 0, id, message.subarray(0, at)),
          random.oneIn(4) ? this.#step() : Buffer.alloc(0),
          frame(DATA, flags, id, message.subarray(at)),
        ]);
      }
      default:
        return this.#maybePadded(DATA, flags, id, message);
    }
  }

  #maybePadded(type: number, flags: number, id: number, payload: Buffer): Buffer {
    const random = this.#random;
    if (!random.oneIn(10)) return frame(type, flags, id, payload);
    const padding = random.below(20);
    const announced = this.#isOdd(4) ? random.below(256) : padding;
    return frame(type, flags | PADDED, id, Buffer.concat([Buffer.from([announced]), payload, Buffer.alloc(padding)]));
  }

  #settings(isFirst = false): Buffer {
    const random = this.#random;
    if (!isFirst && random.oneIn(6)) return frame(SETTINGS, 1, 0, random.bytes(this.#isOdd(8) ? 6 : 0));
    const isSound = !this.#isOdd(4);
    const entries = Array.from({ length: random.below(4) }, () => {
      const id = random.between(1, isSound ? 6 : 10);
      const sound = [0, random.below(5000), random.below(2), 1000, random.below(100_000), 16_384, 65_536][id] ?? 0;
      return Buffer.concat([Buffer.from([0, id]), uint32(isSound ? sound : random.pick(NUMBERS))]);
    });
    return frame(SETTINGS, 0, 0, Buffer.concat(entries));
  }

  /** The same frame many times. */
  #repeated(): Buffer {
    const random = this.#random;
    const one = random.oneIn(2) && this.#isWild ? this.#anyFrame() : frame(PING, 0, 0, random.bytes(8));
    return Buffer.concat(Array.from({ length: random.between(2, 40) }, () => one));
  }

  /** A frame of any type, with anything wrong. */
  #anyFrame(): Buffer {
    const random = this.#random;
    const type = random.oneIn(10) ? random.below(256) : random.below(10);
    const length = random.pick([0, 1, 4, 5, 6, 8, 9, random.below(100)]);
    const bytes = frame(type, random.below(256), this.#anyId(), random.bytes(length));
    if (random.oneIn(5)) bytes.writeUIntBE(random.pick([0, 1, 16_384, 16_385, 0xffffff, random.below(200)]), 0, 3);
    return bytes;
  }

  #newId(): number {
    const random = this.#random;
    const odd = [0, 2, Math.max(0, this.#nextId - 2), 0x7fff_fffd, 0x7fff_ffff] as const;
    const id = this.#isOdd(30) ? random.pick(odd) : this.#nextId;
    this.#nextId += random.oneIn(20) ? 4 : 2;
    this.#open.push(id);
    return id;
  }

  /** Notes that the client ends a stream. */
  #ended(id: number, make: (id: number) => Buffer): Buffer {
    this.#open = this.#open.filter((open) => open !== id);
    return make(id);
  }

  /** A stream that is open, if there is one; or in a wild session any other. */
  #anyId(): number {
    const random = this.#random;
    if (this.#isOdd(8)) return random.pick([0, 2, random.below(this.#nextId), this.#nextId, 0x7fff_ffff]);
    const [first = 1, ...others] = this.#open;
    return random.pick([first, ...others]);
  }
}

function block(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
