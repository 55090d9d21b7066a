// The decoded fields of one header block, as ranges of bytes; strings are made for who asks.

/** Fields of one block, valid until the next block is decoded into the same list. */
export class FieldList {
  /** Fields in the list. */
  count = 0;

  /** The name of a field; bytes above 127 as Latin-1. */
  name(_index: number): string {
    throw new Error("Cannot read yet");
  }

  /** The value of a field; bytes above 127 as Latin-1. */
  value(_index: number): string {
    throw new Error("Cannot read yet");
  }
}
