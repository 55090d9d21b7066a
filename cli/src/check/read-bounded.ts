// Reads a stream into memory, up to a bound: a name on the command line may lead to a device or a
// pipe without end.

/** A file or standard input, as far as reading goes. */
export type InputStream = AsyncIterable<Uint8Array>;

/**
 * The bytes of a stream; undefined when there are more than `sizeMaxBytes`, and then no more are
 * read. Rejects as the stream does.
 */
export async function readBounded(stream: InputStream, sizeMaxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > sizeMaxBytes) return undefined;
  }
  return Buffer.concat(chunks);
}
