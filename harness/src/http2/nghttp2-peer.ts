// A client session of nghttp2 (node:http2) over memory, whose header blocks a test reads and answers.
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { Duplex } from "node:stream";

import {
  acknowledgementOf,
  FLAG,
  FRAME,
  frame,
  FrameReader,
  PREFACE,
  resetFrame,
  settingsFrame,
} from "./http2-frames.ts";

const SETTINGS_HEADER_TABLE_SIZE = 1;
const SETTINGS_MAX_CONCURRENT_STREAMS = 3;

/** Writes one header block into `target` from `offset` on and returns the offset after its last byte. */
export type WriteBlock = (target: Buffer, offset: number) => number;

/** Settings of the session, and callbacks of the test. */
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
  readonly #reader = new FrameReader((...read) => this.#onFrame(...read), PREFACE.length);
  #fragments: Buffer[] = [];

  private constructor(options: PeerOptions) {
    this.#options = options;
    this.#duplex = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        // Not while nghttp2 sends: it would not read what is pushed meanwhile.
        setImmediate(() => {
          this.#reader.read(chunk);
          done();
        });
      },
    });
    this.session = connect("http://memory", { createConnection: () => this.#duplex });
  }

  /** Opens the session; nghttp2 has read our SETTINGS. */
  static async open(options: PeerOptions): Promise<Nghttp2Peer> {
    const peer = new Nghttp2Peer(options);
    const isRead = once(peer.session, "remoteSettings");
    peer.#duplex.push(
      settingsFrame([SETTINGS_HEADER_TABLE_SIZE, options.tableBytes], [SETTINGS_MAX_CONCURRENT_STREAMS, 2 ** 31 - 1]),
    );
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

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    const acknowledgement = acknowledgementOf(type, flags, payload);
    if (acknowledgement !== undefined) this.#duplex.push(acknowledgement);
    if (type === FRAME.SETTINGS)
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === SETTINGS_HEADER_TABLE_SIZE)
          this.#options.onTableBytes(payload.readUInt32BE(at + 2));
    if (type !== FRAME.HEADERS && type !== FRAME.CONTINUATION) return;
    const isPadded = type === FRAME.HEADERS && (flags & FLAG.PADDED) !== 0;
    const start = (isPadded ? 1 : 0) + (type === FRAME.HEADERS && (flags & FLAG.PRIORITY) !== 0 ? 5 : 0);
    this.#fragments.push(Buffer.from(payload.subarray(start, payload.length - (isPadded ? payload[0]! : 0))));
    if ((flags & FLAG.END_HEADERS) === 0) return;
    this.#options.onBlock(Buffer.concat(this.#fragments));
    this.#fragments = [];
    const blocks = this.#options.answer();
    for (const [at, write] of blocks.entries()) {
      const target = Buffer.alloc(16_384);
      const flagsOut = FLAG.END_HEADERS | (at === blocks.length - 1 ? FLAG.END_STREAM : 0);
      this.#duplex.push(frame(FRAME.HEADERS, flagsOut, streamId, target.subarray(0, write(target, 0))));
    }
    this.#duplex.push(resetFrame(streamId, 0));
  }
}
