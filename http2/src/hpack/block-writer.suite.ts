// Writes header blocks of every form for tests, sound or not.
import { hpackInteger } from "@weir/harness/http2/http2-frames";
import { HUFFMAN_CODES } from "./huffman-code.ts";

/** A string in Huffman code, octets as Latin-1. */
export function huffman(text: string): Buffer {
  const encoded = huffmanOctets([...Buffer.from(text, "latin1")]);
  return Buffer.concat([hpackInteger(0x80, 7, encoded.length), encoded]);
}

/** The codes of these symbols, filled up with ones. */
export function huffmanOctets(symbols: readonly number[]): Buffer {
  let bits = symbols
    .map((symbol) => HUFFMAN_CODES[symbol]!)
    .map((code) => code.bits.toString(2).padStart(code.length, "0"))
    .join("");
  bits += "1".repeat((8 - (bits.length % 8)) % 8);
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => parseInt(octet, 2)));
}

/** An indexed field (RFC 7541, 6.1). */
export function indexed(index: number): Buffer {
  return hpackInteger(0x80, 7, index);
}

/** A change of the table's size (RFC 7541, 6.3). */
export function tableUpdate(bytes: number): Buffer {
  return hpackInteger(0x20, 5, bytes);
}

/** How a literal is represented: inserted into the table, not inserted, never to be indexed. */
export type LiteralKind = "inserted" | "not inserted" | "never indexed";

/** A literal (RFC 7541, 6.2) whose name is an index or a string that was encoded already. */
export function literal(kind: LiteralKind, name: number | Buffer, value: Buffer): Buffer {
  const index = typeof name === "number" ? name : 0;
  const string = typeof name === "number" ? [] : [name];
  const start = {
    inserted: hpackInteger(0x40, 6, index),
    "not inserted": hpackInteger(0, 4, index),
    "never indexed": hpackInteger(0x10, 4, index),
  };
  return Buffer.concat([start[kind], ...string, value]);
}
