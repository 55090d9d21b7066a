// Cuts the DATA of a gRPC stream into its messages, which are not compressed.

/** Length of the prefix of each message of gRPC: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** Calls `onMessage` for each message when its last byte has come; it joins chunks once for each message. */
export function createMessageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let sizeBytes = 0;
  return (chunk) => {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    while (sizeBytes >= PREFIX_BYTES) {
      if (chunks[0]!.length < PREFIX_BYTES) chunks = [Buffer.concat(chunks)];
      const end = PREFIX_BYTES + chunks[0]!.readUInt32BE(1);
      if (sizeBytes < end) return;
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      chunks = [bytes.subarray(end)];
      sizeBytes -= end;
      onMessage(bytes.subarray(PREFIX_BYTES, end));
    }
  };
}
