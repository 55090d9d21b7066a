// The frames of a client of a Connection for tests, as bytes.
import { Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from "../frames/frame.ts";

/** A frame. */
export function frame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, payload.length, type, flags, streamId);
  return Buffer.concat([header, payload]);
}

/** SETTINGS with identifiers and values. */
export function settingsFrame(settings: readonly (readonly [number, number])[] = []): Buffer {
  return frame(
    FrameType.SETTINGS,
    0,
    0,
    Buffer.concat(
      settings.map(([id, value]) => {
        const bytes = Buffer.alloc(6);
        bytes.writeUInt16BE(id, 0);
        bytes.writeUInt32BE(value, 2);
        return bytes;
      }),
    ),
  );
}

/** A header block of literals that are not indexed. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

/** The fields of a gRPC request. */
export function requestFields(method: string, extra: Readonly<Record<string, string>> = {}): [string, string][] {
  const fields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": `/test.Service/${method}`,
    ":authority": "test",
    "content-type": "application/grpc",
    te: "trailers",
    ...extra,
  };
  return Object.entries(fields).filter(([, value]) => value !== "");
}

/** HEADERS that open a call of "test.Service"; an extra field of "" removes one. */
export function openCall(streamId: number, method: string, extra: Readonly<Record<string, string>> = {}): Buffer {
  return frame(FrameType.HEADERS, Flag.END_HEADERS, streamId, headerBlock(requestFields(method, extra)));
}

/** A gRPC message. */
export function message(content: string | Buffer, flag = 0): Buffer {
  const bytes = Buffer.from(content);
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** DATA that ends its stream. */
export function lastData(streamId: number, payload: Buffer): Buffer {
  return frame(FrameType.DATA, Flag.END_STREAM, streamId, payload);
}

/** A whole call in two frames. */
export function wholeCall(streamId: number, method: string, content = "hello"): Buffer {
  return Buffer.concat([openCall(streamId, method), lastData(streamId, message(content))]);
}

/** WINDOW_UPDATE. */
export function windowUpdate(streamId: number, increment: number): Buffer {
  return frame(FrameType.WINDOW_UPDATE, 0, streamId, uint32(increment));
}

/** RST_STREAM with CANCEL. */
export function cancel(streamId: number): Buffer {
  return frame(FrameType.RST_STREAM, 0, streamId, uint32(8));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([lengthOf(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits (RFC 7541, 5.1). */
function lengthOf(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
