// The Huffman code of RFC 7541, Appendix B, from the lengths of its codes.

/** Number of the symbol EOS, which no string contains; those before it are octets. */
export const EOS = 256;

/**
 * Bits of each symbol's code, from symbol 0 on, as runs of "length*count". The code is canonical:
 * lengths determine it.
 */
const LENGTHS =
  "13 23 28*7 24 30 28*2 30 28*8 30 28*9 6 10*2 12 13 6 8 11 10*2 8 11 8 6*3 5*3 6*7 7 8 15 6 12 10 " +
  "13 6 7*22 8 7 8 13 19 13 14 6 15 5 6 5 6 5 6*3 5 7*2 6*3 5 6 7 6 5*2 6 7*5 15 11 14 13 28 20 22 " +
  "20*2 22*3 23 22 23*5 24 23 24*2 22 23 24 23*4 21 22 23 22 23*2 24 22 21 20 22*2 23*2 21 23 22*2 " +
  "24 21 22 23*2 21*2 22 21 23 22 23*2 20 22*3 23 22*2 23 26*2 20 19 22 23 22 25 26*3 27*2 26 24 25 " +
  "19 21 26 27*2 26 27 24 21*2 26*2 28 27*3 20 24 20 21 22 21*2 23 22*2 25*2 24*2 26 23 26 27 26*2 " +
  "27*5 28 27*5 26 30";

/** One symbol's code: its `length` low bits, the first bit sent highest. */
export interface HuffmanCode {
  readonly bits: number;
  readonly length: number;
}

/** The codes of all symbols, EOS last. */
export const HUFFMAN_CODES: readonly HuffmanCode[] = canonicalCodes(lengthsOf(LENGTHS));

function lengthsOf(runs: string): number[] {
  return runs.split(" ").flatMap((run) => {
    const [length, count = "1"] = run.split("*");
    return Array.from({ length: Number(count) }, () => Number(length));
  });
}

/** Numbers the codes: shorter ones first, equally long ones in the order of their symbols. */
function canonicalCodes(lengths: readonly number[]): HuffmanCode[] {
  const codes: HuffmanCode[] = [];
  let bits = 0;
  let lengthBefore = 0;
  const symbols = lengths.map((length, symbol) => ({ length, symbol }));
  for (const { length, symbol } of symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol)) {
    bits *= 2 ** (length - lengthBefore);
    codes[symbol] = { bits, length };
    bits++;
    lengthBefore = length;
  }
  return codes;
}
