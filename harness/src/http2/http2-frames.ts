// The bytes of an HTTP/2 client, sound or not, and a reader of frames: for unit tests, attacks, fuzzers
// and load generators. It shares no code with the server that they test.

/** First bytes that a client sends on a connection (RFC 9113, section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Bytes of a frame header (RFC 9113, section 4.1). */
export const FRAME_HEADER_BYTES = 9;

/** Numbers of frame types (RFC 9113, section 6). */
export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames: the first is END_STREAM on DATA and HEADERS, and ACK on SETTINGS and PING. */
export const FLAG = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** The largest flow-control window and the one of a new connection, in bytes (RFC 9113, section 6.9). */
const WINDOW = { max: 0x7fffffff, initial: 65_535 } as const;

/** Identifiers of settings (RFC 9113, section 6.5.2). */
export const SETTING = { headerTableSize: 1, initialWindow: 4 } as const;

/**
 * The opening of a connection: no dynamic table towards us, and windows of this size; unless said
 * otherwise so large that no answer ever waits for one.
 */
export function openingBytes(windowBytes: number = WINDOW.max): Buffer {
  const opening = Buffer.concat([
    PREFACE,
    settingsFrame([SETTING.headerTableSize, 0], [SETTING.initialWindow, windowBytes]),
  ]);
  return windowBytes > WINDOW.initial ? Buffer.concat([opening, windowUpdate(windowBytes - WINDOW.initial)]) : opening;
}

/** SETTINGS with identifiers and values. */
export function settingsFrame(...settings: readonly (readonly [identifier: number, value: number])[]): Buffer {
  return frame(
    FRAME.SETTINGS,
    0,
    0,
    Buffer.concat(settings.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)]))),
  );
}

/** Gives the server more of the connection's window, or of a stream's. */
export function windowUpdate(bytes: number, streamId = 0): Buffer {
  return frame(FRAME.WINDOW_UPDATE, 0, streamId, uint32(bytes));
}

/** The acknowledgement that a frame asks for: those of SETTINGS and PING do, unless they are one. */
export function acknowledgementOf(type: number, flags: number, payload: Buffer): Buffer | undefined {
  if ((type !== FRAME.SETTINGS && type !== FRAME.PING) || (flags & FLAG.ACK) !== 0) return undefined;
  return frame(type, FLAG.ACK, 0, type === FRAME.PING ? payload : Buffer.alloc(0));
}

/** A message with the prefix of gRPC: a compression flag, then its length. */
export function grpcMessage(message: Uint8Array | string, flag = 0): Buffer {
  const bytes = Buffer.from(message);
  return Buffer.concat([Buffer.from([flag]), uint32(bytes.length), bytes]);
}

/** Receives each frame of a frame reader. The payload is a view that is valid during the call only. */
export type FrameListener = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  /** Bytes of a frame that is not complete. */
  rest: Buffer = Buffer.alloc(0);
  /** Bytes in front of the first frame that are still to come. */
  prefaceBytes: number;
  readonly #onFrame: FrameListener;

  constructor(onFrame: FrameListener, prefaceBytes = 0) {
    this.#onFrame = onFrame;
    this.prefaceBytes = prefaceBytes;
  }

  read(chunk: Buffer): void {
    const skipped = Math.min(this.prefaceBytes, chunk.length);
    this.prefaceBytes -= skipped;
    this.rest = this.rest.length === 0 ? chunk.subarray(skipped) : Buffer.concat([this.rest, chunk]);
    while (this.rest.length >= FRAME_HEADER_BYTES) {
      const bytes = this.rest;
      const end = FRAME_HEADER_BYTES + bytes.readUIntBE(0, 3);
      if (end > bytes.length) return;
      this.rest = bytes.subarray(end);
      this.#onFrame(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5), bytes.subarray(FRAME_HEADER_BYTES, end));
    }
  }
}

/** Fields that a request may have in addition to its own, or instead; undefined removes one. */
export type ExtraFields = Readonly<Record<string, string | undefined>>;

/** The header block of a gRPC request, literals only. A name without a path is a method of "test.Service". */
export function requestBlock(path: string, extra: ExtraFields = {}): Buffer {
  const fields: ExtraFields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": path.startsWith("/") ? path : `/test.Service/${path}`,
    ":authority": "test",
    "content-type": "application/grpc",
    te: "trailers",
    ...extra,
  };
  return literalBlock(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** HEADERS that open a call. */
export function openCall(streamId: number, path: string, extra: ExtraFields = {}): Buffer {
  return frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, requestBlock(path, extra));
}

/** DATA that ends its stream. */
export function lastData(streamId: number, payload: Buffer): Buffer {
  return frame(FRAME.DATA, FLAG.END_STREAM, streamId, payload);
}

/** A whole call in two frames. */
export function wholeCall(
  streamId: number,
  path: string,
  message: Uint8Array | string = "hello",
  extra: ExtraFields = {},
): Buffer {
  return Buffer.concat([openCall(streamId, path, extra), lastData(streamId, grpcMessage(message))]);
}

/** RST_STREAM, with CANCEL unless another code is given. */
export function resetFrame(streamId: number, code = 8): Buffer {
  return frame(FRAME.RST_STREAM, 0, streamId, uint32(code));
}

/** Header fields as literals that enter no table (RFC 7541, section 6.2.2). */
export function literalBlock(fields: readonly (readonly string[])[]): Buffer {
  return Buffer.concat(fields.flatMap((field) => [Buffer.from([0]), ...field.map(hpackString)]));
}

/** A string as it is, octets as Latin-1 (RFC 7541, section 5.2). */
export function hpackString(text: string): Buffer {
  return Buffer.concat([hpackInteger(0, 7, text.length), Buffer.from(text, "latin1")]);
}

/** The integer with a prefix of so many bits behind the high bits `first` (RFC 7541, section 5.1). */
export function hpackInteger(first: number, prefixBits: number, value: number): Buffer {
  const prefix = 2 ** prefixBits - 1;
  if (value < prefix) return Buffer.from([first | value]);
  const octets = [first | prefix];
  let rest = value - prefix;
  for (; rest >= 128; rest = Math.floor(rest / 128)) octets.push((rest % 128) | 128);
  return Buffer.from([...octets, rest]);
}

/** A frame. */
export function frame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

/** A number of 32 bits. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
