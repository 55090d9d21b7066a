// The bytes of gRPC calls over HTTP/2, and a reader of frames. For the fuzzer: it trusts the server.

/** What a client sends first on a connection (RFC 9113, section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Bytes of a frame header (RFC 9113, section 4.1). */
const FRAME_HEADER_BYTES = 9;

/** Numbers of frame types (RFC 9113, section 6). */
export const FRAME = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8 } as const;

/** Flags of frames: the first is END_STREAM on DATA and HEADERS, and ACK on SETTINGS and PING. */
export const FLAG = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4 } as const;

/** The largest flow-control window and the one of a new connection, in bytes (RFC 9113, section 6.9). */
const WINDOW = { max: 0x7fffffff, initial: 65_535 } as const;

/**
 * The opening of a connection: no dynamic table towards us, and windows of this size; unless said
 * otherwise so large that no answer ever waits for one.
 */
export function openingBytes(windowBytes: number = WINDOW.max): Buffer {
  const settings = Buffer.alloc(12);
  settings.writeUInt16BE(0x1, 0); // SETTINGS_HEADER_TABLE_SIZE = 0
  settings.writeUInt16BE(0x4, 6); // SETTINGS_INITIAL_WINDOW_SIZE
  settings.writeUInt32BE(windowBytes, 8);
  const opening = Buffer.concat([PREFACE, frame(FRAME.SETTINGS, 0, 0, settings)]);
  return windowBytes > WINDOW.initial ? Buffer.concat([opening, windowUpdate(windowBytes - WINDOW.initial)]) : opening;
}

/** Gives the server more of the connection's window, or of a stream's. */
export function windowUpdate(bytes: number, streamId = 0): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(FRAME.WINDOW_UPDATE, 0, streamId, payload);
}

/** The acknowledgement that a frame asks for: those of SETTINGS and PING do, unless they are one. */
export function acknowledgementOf(type: number, flags: number, payload: Buffer): Buffer | undefined {
  if ((type !== FRAME.SETTINGS && type !== FRAME.PING) || (flags & FLAG.ACK) !== 0) return undefined;
  return frame(type, FLAG.ACK, 0, type === FRAME.PING ? payload : Buffer.alloc(0));
}

/** Offsets of `marker` in `bytes` from `start` on. */
export function placesOf(marker: string, bytes: Buffer, start = 0): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(marker, start); at >= 0; at = bytes.indexOf(marker, at + marker.length)) places.push(at);
  return places;
}

/** A message with the prefix of gRPC: no compression flag, then its length. */
export function grpcMessage(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}

/** What a frame reader reports. The payload is a view that is valid during the call only. */
export type FrameListener = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/** Cuts a stream of bytes into frames. */
export function createFrameReader(onFrame: FrameListener): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      onFrame(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5), bytes.subarray(at + FRAME_HEADER_BYTES, end));
      at = end;
    }
    rest = at === bytes.length ? undefined : bytes.subarray(at);
  };
}

// :method POST and :scheme http from the static table; four fields as literals that enter the
// dynamic table (RFC 7541, 6.2.1), so that afterwards te is entry 62, content-type 63, :authority
// 64 and :path 65.
function indexedLiterals(path: string, authority: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x83, 0x86]),
    Buffer.from([0x44]), // :path
    hpackString(path),
    Buffer.from([0x41]), // :authority
    hpackString(authority),
    Buffer.from([0x5f]), // content-type
    hpackString("application/grpc"),
    Buffer.from([0x40]), // A name that the static table lacks.
    hpackString("te"),
    hpackString("trailers"),
  ]);
}

function hpackString(text: string): Buffer {
  if (text.length > 126) throw new RangeError(`Longer than one length byte can say: ${text}`);
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "latin1")]);
}

/**
 * Header fields as literals that enter no table (RFC 7541, section 6.2.2); names and values are cut
 * at 126 bytes.
 */
export function literalBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), cutString(name), cutString(value)])),
  );
}

function cutString(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([Buffer.from([Math.min(bytes.length, 126)]), bytes.subarray(0, 126)]);
}

/** One frame. */
export function frame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}
