// SETTINGS: what the peer may change, and what this server announces (RFC 9113, 6.5).
import { ConnectionError, ErrorCode, FRAME_HEADER_BYTES, FrameType, writeFrameHeader, writeUint32 } from "./frame.ts";

const SETTING_BYTES = 6;

/** Bytes of the SETTINGS frame of the server. */
export const SETTINGS_MAX_BYTES: number = FRAME_HEADER_BYTES + 2 * SETTING_BYTES;

/** Identifiers of settings (RFC 9113, 6.5.2). */
const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

/** The changes that a peer's SETTINGS frame makes; undefined = not mentioned. */
export interface SettingsChange {
  /** The smallest that the frame names, and the last: the encoder must pass through both (RFC 7541, 4.2). */
  headerTableMinBytes: number | undefined;
  headerTableBytes: number | undefined;
  initialWindowBytes: number | undefined;
}

/** The settings that the server announces. */
export interface AnnouncedSettings {
  readonly concurrentStreamsMax: number;
  readonly headerListMaxBytes: number;
}

/** Reads the payload of a SETTINGS frame. Throws a ConnectionError for values that are not allowed. */
export function readSettings(bytes: Buffer, start: number, end: number): SettingsChange {
  if ((end - start) % SETTING_BYTES !== 0)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS is no multiple of 6 bytes");
  const change: SettingsChange = {
    headerTableMinBytes: undefined,
    headerTableBytes: undefined,
    initialWindowBytes: undefined,
  };
  for (let offset = start; offset < end; offset += SETTING_BYTES)
    apply(change, bytes.readUInt16BE(offset), bytes.readUInt32BE(offset + 2));
  return change;
}

/** Writes the SETTINGS frame of the server and returns the offset after it. */
export function writeSettings(target: Buffer, offset: number, settings: AnnouncedSettings): number {
  let position = writeFrameHeader(target, offset, 2 * SETTING_BYTES, FrameType.SETTINGS, 0, 0);
  position = target.writeUInt16BE(Setting.MAX_CONCURRENT_STREAMS, position);
  position = writeUint32(target, position, settings.concurrentStreamsMax);
  position = target.writeUInt16BE(Setting.MAX_HEADER_LIST_SIZE, position);
  return writeUint32(target, position, settings.headerListMaxBytes);
}

function apply(change: SettingsChange, id: number, value: number): void {
  switch (id) {
    case Setting.HEADER_TABLE_SIZE:
      change.headerTableMinBytes = Math.min(change.headerTableMinBytes ?? value, value);
      change.headerTableBytes = value;
      return;
    case Setting.ENABLE_PUSH:
      if (value > 1) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "SETTINGS_ENABLE_PUSH is neither 0 nor 1");
      return;
    case Setting.INITIAL_WINDOW_SIZE:
      if (value > 0x7fff_ffff)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE is above 2^31-1");
      change.initialWindowBytes = value;
      return;
    case Setting.MAX_FRAME_SIZE:
      if (value < 0x4000 || value > 0xff_ffff)
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE is outside 2^14 to 2^24-1");
      return; // Frames of this server have at most the smallest of these sizes.
    default: // RFC 9113, 6.5.2: unknown settings are ignored; the others limit what a server does not do.
  }
}
