// gRPC status codes, and the encoding of their text.

/** The status codes that servers here answer with (gRPC, "Status codes and their use"). */
export const GrpcStatus = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** The name of a status code other than OK. */
export type GrpcStatusName = Exclude<keyof typeof GrpcStatus, "OK">;

/** The longest grpc-message after encoding, in bytes: clients accept headers of 8 KiB and more. */
const MESSAGE_MAX_BYTES = 4096;

/** A text that is its own encoding in a header value. */
const PLAIN = /^[ -$&-~]*$/;

/**
 * A text as header value: percent-encoded UTF-8 (gRPC over HTTP/2, "Status-Message"), cut after a
 * whole character when too long. Values neither begin nor end with a space (RFC 9113, 8.2.1).
 */
export function encodeGrpcMessage(text: string): string {
  return encode(text).replaceAll(/^ | $/g, "%20");
}

function encode(text: string): string {
  if (PLAIN.test(text)) return text.slice(0, MESSAGE_MAX_BYTES);
  let encoded = "";
  for (const character of text) {
    const next = PLAIN.test(character) ? character : encodeCharacter(character);
    if (encoded.length + next.length > MESSAGE_MAX_BYTES) break;
    encoded += next;
  }
  return encoded;
}

function encodeCharacter(character: string): string {
  return Buffer.from(character, "utf8").toString("hex").toUpperCase().replaceAll(/../g, "%$&");
}
