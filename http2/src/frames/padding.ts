// The padding of HEADERS and DATA (RFC 9113, 6.1).
import { ConnectionError, ErrorCode } from "./frame.ts";

/**
 * The bytes of padding at the end of a payload, whose first byte names them and is no part of the
 * content. Throws a ConnectionError when they exceed the payload.
 */
export function paddingBytes(bytes: Buffer, start: number, end: number): number {
  const padding = bytes[start] ?? 0;
  if (padding >= end - start) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "The padding exceeds its frame");
  return padding;
}
