// Reads version, type and nonce of the responses of an ADS stream and skips their resources as they come, so
// that a thousand streams in one process are no bottleneck.
import { create } from "@bufbuild/protobuf";
import {
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

/** Bytes in front of each message: the compression flag and the length. */
const PREFIX_BYTES = 5;

/** Receives a response and the size of its message. */
export type ResponseListener = (response: DiscoveryResponse, sizeBytes: number) => void;

/** Cuts the DATA of one stream into responses; calls `onResponse` for each when its last byte has come. */
export function createHeadReader(onResponse: ResponseListener): (chunk: Buffer) => void {
  const reading = readResponses(onResponse);
  let wanted = reading.next().value;
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (wanted < 0 ? rest.length > 0 : rest.length >= wanted) {
      const taken = Math.min(Math.abs(wanted), rest.length);
      const bytes = rest.subarray(0, taken);
      rest = rest.subarray(taken);
      wanted += wanted < 0 ? taken : 0;
      if (wanted >= 0) wanted = reading.next(bytes).value;
    }
  };
}

/** Yields how many bytes it needs next and is resumed with them; a negative count is to be skipped. */
function* readResponses(onResponse: ResponseListener): Generator<number, never, Buffer> {
  const { versionInfo, typeUrl, nonce } = DiscoveryResponseSchema.field;
  for (;;) {
    const sizeBytes = (yield PREFIX_BYTES).readUInt32BE(1);
    const head = create(DiscoveryResponseSchema);
    for (let left = sizeBytes; left > 0;) {
      // All fields that are ever set are strings, bytes and messages: a tag of one byte, a length, then so many bytes.
      const [tag = 0, first = 0] = yield 2;
      let length = first & 0x7f;
      left -= 2;
      for (let byte = first, bits = 7; byte >= 0x80; bits += 7, left -= 1) {
        byte = (yield 1).readUInt8();
        length += (byte & 0x7f) * 2 ** bits;
      }
      left -= length;
      if (left < 0) throw new RangeError("A response holds a field that is longer than the response");
      const field = [versionInfo, typeUrl, nonce].find(({ number }) => number === tag >> 3);
      if (field !== undefined) head[field.localName as "nonce"] = (yield length).toString();
      else if (length > 0) yield -length;
    }
    onResponse(head, sizeBytes);
  }
}
