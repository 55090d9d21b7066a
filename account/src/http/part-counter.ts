// Counts the parts of a multipart body by their delimiters (RFC 2046 section 5.1.1): busboy silently
// skips a part without Content-Disposition.

/** The boundary in a Content-Type header, quoted or plain. */
const BOUNDARY = /;\s*boundary=(?:"((?:[^"\\]|\\.)+)"|([^\s;"]+))/i;

const LINE_END = Buffer.from("\r\n");
const CLOSE = Buffer.from("--");

/** A counter for bodies of this Content-Type; undefined when it names no boundary. */
export function createPartCounter(contentType: string): PartCounter | undefined {
  const match = BOUNDARY.exec(contentType);
  const boundary = match?.[1]?.replaceAll(/\\(.)/g, "$1") ?? match?.[2];
  return boundary === undefined ? undefined : new PartCounter(Buffer.from(`\r\n--${boundary}`, "latin1"));
}

/** Counts while the body is read. */
export class PartCounter {
  readonly #delimiter: Buffer;
  /**
   * Bytes that may be the start of a delimiter; the first delimiter needs no line end before it.
   * Shorter than a delimiter and a line end.
   */
  #carry: Buffer = LINE_END;
  #count = 0;
  #isClosed = false;

  constructor(delimiter: Buffer) {
    this.#delimiter = delimiter;
  }

  /** Parts that have begun so far. */
  parts(): number {
    return this.#count;
  }

  /** Takes the next bytes of the body, in pieces of any size. */
  push(chunk: Buffer): void {
    if (this.#isClosed) return; // Bytes after the closing delimiter have no meaning.
    const bytes = Buffer.concat([this.#carry, chunk]);
    const length = this.#delimiter.length;
    let at = bytes.indexOf(this.#delimiter);
    while (at !== -1 && at + length + 2 <= bytes.length) {
      const after = bytes.subarray(at + length, at + length + 2);
      if (after.equals(LINE_END)) this.#count += 1;
      if (after.equals(CLOSE)) {
        this.#isClosed = true;
        return;
      }
      at = bytes.indexOf(this.#delimiter, at + length);
    }
    this.#carry = bytes.subarray(at === -1 ? Math.max(0, bytes.length - length + 1) : at);
  }
}
