// Messages of calls that are rare, encoded and decoded by @bufbuild/protobuf.
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";

import { failMalformed, MalformedMessage } from "./malformed-message.ts";
import type { MessageEncoder, UnaryCall, UnaryMethod } from "./method.ts";

/** Copies a message that is encoded already. */
export const ENCODED_MESSAGE: MessageEncoder<Uint8Array> = {
  maxBytes: (bytes) => bytes.length,
  encode(bytes, target, offset) {
    target.set(bytes, offset);
    return offset + bytes.length;
  },
};

/** A method with one request of this type; a malformed one gets INTERNAL. */
export function libraryMethod<Schema extends DescMessage>(
  schema: Schema,
  handle: (call: UnaryCall, request: MessageShape<Schema>) => void,
): UnaryMethod {
  return {
    kind: "unary",
    handle(call, bytes, start, end) {
      let request: MessageShape<Schema>;
      try {
        request = decodeMessage(schema, bytes, start, end);
      } catch (error) {
        failMalformed(call, error);
        return;
      }
      handle(call, request);
    },
  };
}

/** Encodes a message. */
export function encodeMessage<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): Buffer {
  const { buffer, byteOffset, length } = toBinary(schema, message);
  return Buffer.from(buffer, byteOffset, length);
}

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
