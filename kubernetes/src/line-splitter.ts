// Cuts a stream of bytes into lines, of which each may be long, but not endless. It does not know
// what the lines say.

/** Collects the bytes of one stream. */
export interface LineSplitter {
  /**
   * Takes the next bytes and gives the lines that are complete now, without their ends; undefined
   * when one is longer than allowed.
   */
  push(chunk: Buffer): readonly string[] | undefined;
}

/** Makes a splitter for lines of at most so many bytes. */
export function createLineSplitter(lineMaxBytes: number): LineSplitter {
  let parts: Buffer[] = [];
  let bytes = 0;
  return {
    push: (chunk) => {
      const lines: string[] = [];
      let from = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        if (bytes + end - from > lineMaxBytes) return undefined;
        const last = chunk.subarray(from, end);
        // Decoded only when whole: a character may be cut by the border of two chunks.
        lines.push(parts.length === 0 ? last.toString() : Buffer.concat([...parts, last]).toString());
        parts = [];
        bytes = 0;
        from = end + 1;
      }
      const rest = chunk.subarray(from);
      bytes += rest.length;
      if (bytes > lineMaxBytes) return undefined;
      if (rest.length > 0) parts.push(rest);
      return lines;
    },
  };
}
