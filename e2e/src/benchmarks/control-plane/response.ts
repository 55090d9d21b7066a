// Reads version and nonce of the responses of an ADS stream and skips their resources, so that a
// thousand streams in one process are no bottleneck.

/** A response that has passed. */
export interface SeenResponse {
  readonly version: string;
  readonly nonce: string;
  /** Size of the whole message. */
  readonly sizeBytes: number;
}

/** Bytes in front of each message: the compression flag and the length. */
const PREFIX_BYTES = 5;

/** Tags of the wanted strings of envoy.service.discovery.v3.DiscoveryResponse: field number, wire type 2. */
const TAG = { version: (1 << 3) | 2, nonce: (5 << 3) | 2 } as const;

/**
 * Cuts the DATA of one stream into responses; calls `onResponse` for each when its last byte has
 * come.
 */
export function createResponseReader(onResponse: (response: SeenResponse) => void): (chunk: Buffer) => void {
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
    rest = Buffer.from(rest); // A copy: the chunk belongs to the connection.
  };
}

/** Yields how many bytes it needs next and is resumed with them; a negative count is to be skipped. */
function* readResponses(onResponse: (response: SeenResponse) => void): Generator<number, never, Buffer> {
  for (;;) {
    const sizeBytes = (yield PREFIX_BYTES).readUInt32BE(1);
    const strings = new Map<number, string>();
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
      if (tag === TAG.version || tag === TAG.nonce) strings.set(tag, (yield length).toString());
      else if (length > 0) yield -length;
    }
    onResponse({ version: strings.get(TAG.version) ?? "", nonce: strings.get(TAG.nonce) ?? "", sizeBytes });
  }
}
