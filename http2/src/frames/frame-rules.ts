// The rules for frames that carry no request: their stream and their length (RFC 9113, 6).
import { ConnectionError, ErrorCode, FrameType, MAX_FRAME_BYTES } from "./frame.ts";

/** The rule of one type. */
interface FrameRule {
  readonly name: string;
  /** Frames of this type belong to a stream, to the connection, or to either. */
  readonly scope: "stream" | "connection" | "either";
  readonly minBytes: number;
  readonly maxBytes: number;
}

const RULES: Readonly<Record<number, FrameRule>> = {
  [FrameType.PRIORITY]: { name: "PRIORITY", scope: "stream", minBytes: 5, maxBytes: 5 },
  [FrameType.RST_STREAM]: { name: "RST_STREAM", scope: "stream", minBytes: 4, maxBytes: 4 },
  [FrameType.SETTINGS]: { name: "SETTINGS", scope: "connection", minBytes: 0, maxBytes: MAX_FRAME_BYTES },
  [FrameType.PING]: { name: "PING", scope: "connection", minBytes: 8, maxBytes: 8 },
  [FrameType.GOAWAY]: { name: "GOAWAY", scope: "connection", minBytes: 8, maxBytes: MAX_FRAME_BYTES },
  [FrameType.WINDOW_UPDATE]: { name: "WINDOW_UPDATE", scope: "either", minBytes: 4, maxBytes: 4 },
};

/** Throws a ConnectionError for a frame that is not allowed; unknown types are (RFC 9113, 5.5). */
export function checkFrame(type: number, streamId: number, lengthBytes: number): void {
  if (type === FrameType.PUSH_PROMISE)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A client cannot send PUSH_PROMISE");
  const rule = RULES[type];
  if (rule === undefined) return;
  if (rule.scope === "connection" ? streamId !== 0 : rule.scope === "stream" && streamId === 0)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `${rule.name} on stream ${streamId}`);
  if (lengthBytes < rule.minBytes || lengthBytes > rule.maxBytes)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `${rule.name} of ${lengthBytes} bytes`);
}
