// A client session of nghttp2 (node:http2) over memory, whose header blocks a test reads and answers.
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { Duplex } from "node:stream";

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const CONTINUATION = 9;

const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;

const SETTINGS_HEADER_TABLE_SIZE = 1;
const SETTINGS_MAX_CONCURRENT_STREAMS = 3;

/** Writes one header block into `target` from `offset` on and returns the offset after its last byte. */
export type WriteBlock = (target: Buffer, offset: number) => number;

/** What a test does with the session. */
export interface PeerOptions {
  /** The SETTINGS_HEADER_TABLE_SIZE that nghttp2's encoder receives. */
  readonly tableBytes: number;
  /** Receives each complete header block, in order. */
  readonly onBlock: (block: Buffer) => void;
  /** The blocks of the next answer: headers, then trailers. */
  readonly answer: () => readonly WriteBlock[];
  /** Receives the SETTINGS_HEADER_TABLE_SIZE of the client. */
  readonly onTableBytes: (bytes: number) => void;
}

/** The client session, with the server's side of its connection in this process. */
export class Nghttp2Peer {
  readonly session: ClientHttp2Session;
  readonly #options: PeerOptions;
  readonly #duplex: Duplex;
  #received: Buffer = Buffer.alloc(0);
  #isOpened = false;
  #fragments: Buffer[] = [];

  private constructor(options: PeerOptions) {
    this.#options = options;
    this.#duplex = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        // Not while nghttp2 sends: it would not read what is pushed meanwhile.
        setImmediate(() => {
          this.#receive(chunk);
          done();
        });
      },
    });
    this.session = connect("http://memory", { createConnection: () => this.#duplex });
  }

  /** Opens the session; nghttp2 has read our SETTINGS. */
  static async open(options: PeerOptions): Promise<Nghttp2Peer> {
    const peer = new Nghttp2Peer(options);
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(SETTINGS_HEADER_TABLE_SIZE, 0);
    settings.writeUInt32BE(options.tableBytes, 2);
    settings.writeUInt16BE(SETTINGS_MAX_CONCURRENT_STREAMS, 6);
    settings.writeUInt32BE(2 ** 31 - 1, 8);
    const isRead = once(peer.session, "remoteSettings");
    peer.#send(SETTINGS, 0, 0, settings);
    await isRead;
    return peer;
  }

  /** Sends a request and resolves with the headers and trailers of its answer. */
  async request(
    headers: OutgoingHttpHeaders,
  ): Promise<{ headers: IncomingHttpHeaders; trailers: IncomingHttpHeaders }> {
    const stream = this.session.request(headers, { endStream: true });
    let response: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (received: IncomingHttpHeaders) => (response = received));
    stream.on("trailers", (received: IncomingHttpHeaders) => (trailers = received));
    stream.resume();
    await once(stream, "close");
    return { headers: response, trailers };
  }

  /** Ends the session. */
  close(): void {
    this.session.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (!this.#isOpened) {
      if (this.#received.length < PREFACE_BYTES) return;
      this.#isOpened = true;
      this.#received = this.#received.subarray(PREFACE_BYTES);
    }
    for (;;) {
      const end = FRAME_HEADER_BYTES + (this.#received.length >= 3 ? this.#received.readUIntBE(0, 3) : 0);
      if (this.#received.length < Math.max(end, FRAME_HEADER_BYTES)) return;
      const frame = this.#received.subarray(0, end);
      this.#received = this.#received.subarray(end);
      this.#onFrame(frame[3]!, frame[4]!, frame.readUInt32BE(5), frame.subarray(FRAME_HEADER_BYTES));
    }
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) {
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === SETTINGS_HEADER_TABLE_SIZE)
          this.#options.onTableBytes(payload.readUInt32BE(at + 2));
      this.#send(SETTINGS, ACK, 0, Buffer.alloc(0));
    }
    if (type !== HEADERS && type !== CONTINUATION) return;
    const start = type === HEADERS ? ((flags & PADDED) === 0 ? 0 : 1) + ((flags & PRIORITY) === 0 ? 0 : 5) : 0;
    const padding = type === HEADERS && (flags & PADDED) !== 0 ? payload[0]! : 0;
    this.#fragments.push(payload.subarray(start, payload.length - padding));
    if ((flags & END_HEADERS) === 0) return;
    this.#options.onBlock(Buffer.concat(this.#fragments));
    this.#fragments = [];
    const blocks = this.#options.answer();
    for (const [at, write] of blocks.entries()) {
      const target = Buffer.alloc(16_384);
      const flagsOut = END_HEADERS | (at === blocks.length - 1 ? END_STREAM : 0);
      this.#send(HEADERS, flagsOut, streamId, target.subarray(0, write(target, 0)));
    }
    this.#send(RST_STREAM, 0, streamId, Buffer.alloc(4));
  }

  #send(type: number, flags: number, streamId: number, payload: Buffer): void {
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    header.writeUIntBE(payload.length, 0, 3);
    header[3] = type;
    header[4] = flags;
    header.writeUInt32BE(streamId, 5);
    this.#duplex.push(Buffer.concat([header, payload]));
  }
}
