// Messages of calls that are rare, encoded and decoded by @bufbuild/protobuf.
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { MessageEncoder } from "@weir/http2/grpc/method";

import { MalformedMessage } from "./codec/malformed-message.ts";

/** Copies a message that is encoded already. */
export const ENCODED_MESSAGE: MessageEncoder<Uint8Array> = {
  maxBytes: (bytes) => bytes.length,
  encode(bytes, target, offset) {
    target.set(bytes, offset);
    return offset + bytes.length;
  },
};

/** Decodes the message in `bytes` from `start` up to `end`. Throws MalformedMessage. */
export function decodeMessage<Schema extends DescMessage>(
  schema: Schema,
  bytes: Buffer,
  start: number,
  end: number,
): MessageShape<Schema> {
  try {
    return fromBinary(schema, bytes.subarray(start, end), { readUnknownFields: false });
  } catch (cause) {
    // The library throws for every malformed message, and for nothing else.
    throw new MalformedMessage(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
