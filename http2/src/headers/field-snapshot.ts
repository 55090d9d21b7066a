// A copy of a list's headers in one buffer, which a record is made of when it is read.
import type { FieldList } from "../hpack/field-list.ts";

const COLON = 0x3a;

/** Bytes in front of each field: the lengths of its name and value, in big-endian order. */
const LENGTH_BYTES = 3;
const LENGTHS_BYTES = 2 * LENGTH_BYTES;

/** Copies all fields but pseudo-headers. */
export function snapshotFields(fields: FieldList): Buffer {
  let size = 0;
  for (let index = 0; index < fields.count; index++)
    size +=
      LENGTHS_BYTES +
      fields.nameEnd(index) -
      fields.nameStart(index) +
      fields.valueEnd(index) -
      fields.valueStart(index);
  const snapshot = Buffer.allocUnsafe(size);
  let at = 0;
  for (let index = 0; index < fields.count; index++) {
    const nameBytes = fields.nameBytes(index);
    const nameStart = fields.nameStart(index);
    if (nameBytes[nameStart] === COLON) continue;
    const valueStart = fields.valueStart(index);
    const nameLength = fields.nameEnd(index) - nameStart;
    const valueLength = fields.valueEnd(index) - valueStart;
    writeLength(snapshot, at, nameLength);
    writeLength(snapshot, at + LENGTH_BYTES, valueLength);
    at += LENGTHS_BYTES;
    copy(nameBytes, nameStart, snapshot, at, nameLength);
    copy(fields.valueBytes(index), valueStart, snapshot, at + nameLength, valueLength);
    at += nameLength + valueLength;
  }
  return snapshot.subarray(0, at);
}

/** The fields of a snapshot; values of a repeated name joined by ", ". Octets above 127 as Latin-1. */
export function snapshotRecord(snapshot: Buffer): Readonly<Record<string, string>> {
  // Without a prototype: "__proto__" and "constructor" are names like any other.
  const record = Object.create(null) as Record<string, string>;
  for (let at = 0; at < snapshot.length;) {
    const nameEnd = at + LENGTHS_BYTES + snapshot.readUIntBE(at, LENGTH_BYTES);
    const end = nameEnd + snapshot.readUIntBE(at + LENGTH_BYTES, LENGTH_BYTES);
    const name = snapshot.toString("latin1", at + LENGTHS_BYTES, nameEnd);
    const value = snapshot.toString("latin1", nameEnd, end);
    const before = record[name];
    record[name] = before === undefined ? value : `${before}, ${value}`;
    at = end;
  }
  return record;
}

function writeLength(target: Buffer, offset: number, length: number): void {
  target[offset] = length >>> 16;
  target[offset + 1] = (length >>> 8) & 0xff;
  target[offset + 2] = length & 0xff;
}

function copy(from: Buffer, start: number, to: Buffer, offset: number, length: number): void {
  for (let at = 0; at < length; at++) to[offset + at] = from[start + at] ?? 0;
}
