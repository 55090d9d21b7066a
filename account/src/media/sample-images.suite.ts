// Builds image files for tests, piece by piece, so that each test shows which piece it breaks.
// images/image-corpus.suite.ts has whole ones of every kind.
import { crc32, deflateSync } from "node:zlib";

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

/** A PNG chunk with a right checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, "latin1");
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

/** The header chunk of an 8-bit greyscale PNG. */
export function pngHeader(width: number, height: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.writeUInt8(8, 8);
  return pngChunk("IHDR", data);
}

/** A PNG file of these chunks. */
export function pngFile(chunks: readonly Buffer[], after: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([PNG_SIGNATURE, ...chunks, pngChunk("IEND", Buffer.alloc(0)), after]);
}

/**
 * A black PNG of 32 by 32 pixels; other sizes are only claimed. `before` comes between header and
 * picture, `after` behind the end.
 */
export function png(
  options: { width?: number; height?: number; before?: readonly Buffer[]; after?: Buffer } = {},
): Buffer {
  const { width = 32, height = 32, before = [], after } = options;
  const rows = Buffer.alloc(32 * 33); // Grey rows with filter 0.
  return pngFile([pngHeader(width, height), ...before, pngChunk("IDAT", deflateSync(rows))], after);
}

/** A JPEG segment. */
export function jpegSegment(marker: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(0xff00 | marker, 0);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/** The JPEG with segments added behind its start. */
export function withSegments(jpeg: Buffer, ...segments: readonly Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
}

/** EXIF data of a big-endian camera: orientation among a text entry, and a position after it. */
export function cameraExif(orientation: number): Buffer {
  const data = Buffer.alloc(64);
  data.write("MM\0*", 0, "latin1");
  data.writeUInt32BE(8, 4);
  data.writeUInt16BE(2, 8);
  data.writeUInt16BE(0x010f, 10); // Maker: text of 8 bytes at 40.
  data.writeUInt16BE(2, 12);
  data.writeUInt32BE(8, 14);
  data.writeUInt32BE(40, 18);
  data.writeUInt16BE(0x0112, 22); // Orientation: one short.
  data.writeUInt16BE(3, 24);
  data.writeUInt32BE(1, 26);
  data.writeUInt16BE(orientation, 30);
  data.write("SecretCo", 40, "latin1");
  data.write("GPS48.85", 50, "latin1");
  return data;
}

/** The segment of a JPEG with that data. */
export function exifSegment(orientation: number): Buffer {
  return jpegSegment(0xe1, Buffer.concat([Buffer.from("Exif\0\0"), cameraExif(orientation)]));
}
