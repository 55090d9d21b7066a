// Reads the integers of HPACK (RFC 7541, 5.1).

/** Longest continuation that is read, in octets: enough for 31 bits. */
const CONTINUATION_MAX = 5;

/** Largest integer that is read. */
const INTEGER_MAX = 2 ** 31 - 1;

/** A place in a block, with the integers that begin there. */
export class IntegerReader {
  /** The offset at which reading continues. */
  at = 0;

  /**
   * Reads the integer whose prefix is the low bits `prefix` of the next octet. Returns −1 when it is
   * cut off at `end`, larger than 2^31 − 1 or longer than 6 octets.
   */
  read(bytes: Buffer, end: number, prefix: number): number {
    if (this.at >= end) return -1;
    const first = (bytes[this.at++] ?? 0) & prefix;
    return first < prefix ? first : this.#continue(bytes, end, prefix);
  }

  #continue(bytes: Buffer, end: number, prefix: number): number {
    let value = prefix;
    let factor = 1;
    for (let octets = 0; octets < CONTINUATION_MAX && this.at < end; octets++) {
      const octet = bytes[this.at++] ?? 0;
      value += (octet & 0x7f) * factor;
      if (octet < 0x80) return value <= INTEGER_MAX ? value : -1;
      factor *= 0x80;
    }
    return -1;
  }
}
