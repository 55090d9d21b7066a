// The form in which keys are stored and compared: whole 32-bit words, so that one step of a hash or
// a comparison covers four characters.
import { hash } from "node:crypto";
import { CLOSING_WORDS, type HashSeed, hashWords } from "./key-hash.ts";

/**
 * Longest key that is stored as it is, in UTF-16 units; of a longer one, up to megabytes, the
 * digest is.
 */
const KEY_MAX_LENGTH = 256;

/** Most words of a key: its header and 256 units of two bytes. */
const KEY_MAX_WORDS = 1 + KEY_MAX_LENGTH / 2;

/**
 * The form of the bytes after the header. Part of the header: keys of two forms are never equal.
 * UTF-16, because in UTF-8 all lone surrogates are the same.
 */
const ASCII = 0 << 16;
const UTF16 = 1 << 16;
const DIGEST = 2 << 16;

/** Writes a text that is still in parts in less time than a Buffer does. */
const ENCODER = new TextEncoder();

/** One key at a time, in memory that is written again for each. */
export class StoredKey {
  /** The header (form and number of bytes), then the bytes; zeros fill the last word. */
  readonly words = new Int32Array(KEY_MAX_WORDS + CLOSING_WORDS);
  /** Number of words of the key, the header included. */
  length = 0;
  /** The hash of the words: 32 bits, as a signed number. */
  hash = 0;
  readonly #bytes = Buffer.from(this.words.buffer, 4);
  readonly #seed: HashSeed;

  constructor(seed: HashSeed) {
    this.#seed = seed;
  }

  /** Takes another key; any text. */
  set(key: string): void {
    if (key.length > KEY_MAX_LENGTH) {
      const digest = hash("sha256", Buffer.from(key, "utf16le"), "base64url");
      this.#end(DIGEST, this.#bytes.write(digest, 0, "latin1"));
      return;
    }
    const { written } = ENCODER.encodeInto(key, this.#bytes);
    if (written === key.length) this.#end(ASCII, written);
    else this.#end(UTF16, this.#bytes.write(key, 0, "utf16le"));
  }

  #end(form: number, bytes: number): void {
    const { words } = this;
    const rest = bytes & 3;
    const whole = 1 + (bytes >> 2);
    words[0] = form | bytes;
    if (rest > 0) words[whole] = (words[whole] ?? 0) & ((1 << (8 * rest)) - 1);
    this.length = rest > 0 ? whole + 1 : whole;
    this.hash = hashWords(words, this.length, this.#seed);
  }
}
