// The names and numbers of HTTP/2 frames, and their nine-byte header (RFC 9113, 4.1 and 6).

/** Bytes before the payload of every frame. */
export const FRAME_HEADER_BYTES = 9;

/** The smallest SETTINGS_MAX_FRAME_SIZE, which is also what this server accepts, in bytes. */
export const MAX_FRAME_BYTES = 16_384;

/** The largest stream identifier (RFC 9113, 5.1.1). */
export const MAX_STREAM_ID = 0x7fff_ffff;

/** Frame types (RFC 9113, 6). */
export const FrameType = {
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

/** Flags of frames; ACK has the bit of END_STREAM in SETTINGS and PING. */
export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** Error codes of RST_STREAM and GOAWAY (RFC 9113, 7). */
export const ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;

/** One of {@link ErrorCode}. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Ends the connection with a GOAWAY of this code (RFC 9113, 5.4.1). */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: ErrorCode;

  /** `reason` is ASCII: it becomes the debug data of the GOAWAY. */
  constructor(code: ErrorCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** Reads 32 bits without the highest, which is reserved in stream identifiers and increments. */
export function readUint31(bytes: Buffer, offset: number): number {
  return (
    (((bytes[offset] ?? 0) & 0x7f) << 24) |
    ((bytes[offset + 1] ?? 0) << 16) |
    ((bytes[offset + 2] ?? 0) << 8) |
    (bytes[offset + 3] ?? 0)
  );
}

/** Reads the length of a frame's payload, in bytes. */
export function readFrameLength(bytes: Buffer, offset: number): number {
  return ((bytes[offset] ?? 0) << 16) | ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0);
}

/** Writes 32 bits and returns the offset after them. */
export function writeUint32(target: Buffer, offset: number, value: number): number {
  target[offset] = value >>> 24;
  target[offset + 1] = value >>> 16;
  target[offset + 2] = value >>> 8;
  target[offset + 3] = value;
  return offset + 4;
}

/** Writes the header of a frame and returns the offset of its payload. */
export function writeFrameHeader(
  target: Buffer,
  offset: number,
  lengthBytes: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  target[offset] = lengthBytes >>> 16;
  target[offset + 1] = lengthBytes >>> 8;
  target[offset + 2] = lengthBytes;
  target[offset + 3] = type;
  target[offset + 4] = flags;
  return writeUint32(target, offset + 5, streamId);
}
