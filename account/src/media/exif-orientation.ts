// Reads the orientation from EXIF data, and writes EXIF data that holds nothing else (TIFF 6.0
// section 2; EXIF 2.32 section 4.6.4).

/** Number of the orientation entry. */
const ORIENTATION_TAG = 0x0112;

/** Type of a 16-bit number in an entry. */
const SHORT_TYPE = 3;

/** Bytes of one entry of a directory. */
const ENTRY_BYTES = 12;

/** Most entries that are looked at; cameras write some twenty. */
const ENTRIES_MAX = 512;

/**
 * The orientation in TIFF-structured EXIF data, 2 to 8; undefined when it is absent, upright (1) or
 * unreadable.
 */
export function readOrientation(tiff: Buffer): number | undefined {
  const order = tiff.toString("latin1", 0, 4);
  if (tiff.length < 8 || (order !== "II*\0" && order !== "MM\0*")) return undefined;
  const little = order.startsWith("I");
  const read16 = (at: number): number => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return undefined;
  const count = Math.min(read16(directory), ENTRIES_MAX);
  for (let index = 0; index < count; index++) {
    const entry = directory + 2 + index * ENTRY_BYTES;
    if (entry + ENTRY_BYTES > tiff.length) return undefined;
    if (read16(entry) !== ORIENTATION_TAG || read16(entry + 2) !== SHORT_TYPE) continue;
    const orientation = read16(entry + 8);
    return orientation >= 2 && orientation <= 8 ? orientation : undefined;
  }
  return undefined;
}

/** EXIF data with one entry, the orientation. */
export function orientationTiff(orientation: number): Buffer {
  const tiff = Buffer.alloc(26);
  tiff.write("II*\0", "latin1");
  tiff.writeUInt32LE(8, 4); // The directory follows the header.
  tiff.writeUInt16LE(1, 8); // One entry.
  tiff.writeUInt16LE(ORIENTATION_TAG, 10);
  tiff.writeUInt16LE(SHORT_TYPE, 12);
  tiff.writeUInt32LE(1, 14);
  tiff.writeUInt16LE(orientation, 18);
  return tiff; // The last four bytes, zero, say that no directory follows.
}
