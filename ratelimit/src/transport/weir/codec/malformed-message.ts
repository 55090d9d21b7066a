// The error of bytes that are no protobuf message of the expected type.

/** Bytes that are not a message. Its message says why, and contains nothing of the bytes. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}
