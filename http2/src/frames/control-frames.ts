// Writes the frames that carry no request and no answer (RFC 9113, 6). Each function returns the
// offset after the frame.
import { type ErrorCode, Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader, writeUint32 } from "./frame.ts";

/** Bytes of the opaque data of a PING. */
export const PING_BYTES = 8;

/** The longest control frame that is written here without debug data, in bytes. */
export const CONTROL_FRAME_MAX_BYTES: number = FRAME_HEADER_BYTES + PING_BYTES;

/** The longest debug data of a GOAWAY, in bytes. */
const GOAWAY_REASON_MAX_BYTES = 200;

/** The longest GOAWAY, in bytes. */
export const GOAWAY_MAX_BYTES: number = FRAME_HEADER_BYTES + 8 + GOAWAY_REASON_MAX_BYTES;

/** Writes RST_STREAM (6.4). */
export function writeReset(target: Buffer, offset: number, streamId: number, code: ErrorCode): number {
  return writeUint32(target, writeFrameHeader(target, offset, 4, FrameType.RST_STREAM, 0, streamId), code);
}

/** Writes the acknowledgement of SETTINGS (6.5). */
export function writeSettingsAck(target: Buffer, offset: number): number {
  return writeFrameHeader(target, offset, 0, FrameType.SETTINGS, Flag.ACK, 0);
}

/** Writes PING or its acknowledgement with the eight bytes of `source` from `start` on (6.7). */
export function writePing(target: Buffer, offset: number, flags: number, source: Buffer, start: number): number {
  const position = writeFrameHeader(target, offset, PING_BYTES, FrameType.PING, flags, 0);
  return position + source.copy(target, position, start, start + PING_BYTES);
}

/** Writes GOAWAY (6.8); `reason` is ASCII, and is cut when it is too long. */
export function writeGoaway(target: Buffer, offset: number, lastId: number, code: ErrorCode, reason: string): number {
  const text = reason.slice(0, GOAWAY_REASON_MAX_BYTES);
  let position = writeFrameHeader(target, offset, 8 + text.length, FrameType.GOAWAY, 0, 0);
  position = writeUint32(target, position, lastId);
  position = writeUint32(target, position, code);
  return position + target.write(text, position, "latin1");
}

/** Writes WINDOW_UPDATE (6.9). */
export function writeWindowUpdate(target: Buffer, offset: number, streamId: number, incrementBytes: number): number {
  return writeUint32(target, writeFrameHeader(target, offset, 4, FrameType.WINDOW_UPDATE, 0, streamId), incrementBytes);
}
