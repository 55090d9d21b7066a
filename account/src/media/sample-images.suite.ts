// Builds image files for tests, piece by piece, so that each test shows which piece it breaks. The
// pictures are structurally whole; they need not be pretty.
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

/** A PNG file; `before` comes between header and picture, `after` behind the end. */
export function png(
  options: { width?: number; height?: number; before?: readonly Buffer[]; after?: Buffer } = {},
): Buffer {
  const { width = 32, height = 32, before = [], after = Buffer.alloc(0) } = options;
  const rows = Buffer.alloc(32 * 33); // Grey rows with filter 0; larger sizes are only claimed.
  const picture = pngChunk("IDAT", deflateSync(rows));
  return Buffer.concat([
    PNG_SIGNATURE,
    pngHeader(width, height),
    ...before,
    picture,
    pngChunk("IEND", Buffer.alloc(0)),
    after,
  ]);
}

/** A JPEG segment. */
export function jpegSegment(marker: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(0xff00 | marker, 0);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/** A baseline greyscale JPEG; `before` comes before the tables, `after` behind the end. */
export function jpeg(
  options: { width?: number; height?: number; before?: readonly Buffer[]; after?: Buffer } = {},
): Buffer {
  const { width = 32, height = 32, before = [], after = Buffer.alloc(0) } = options;
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const huffman = Buffer.concat([Buffer.from([0]), Buffer.from([1]), Buffer.alloc(15), Buffer.from([0])]);
  return Buffer.concat([
    Buffer.from("ffd8", "hex"),
    ...before,
    jpegSegment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
    jpegSegment(0xc0, frame),
    jpegSegment(0xc4, huffman),
    jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from("12ff00a4ffd03456", "hex"), // Coded data with a stuffed byte and a restart.
    Buffer.from("ffd9", "hex"),
    after,
  ]);
}

/** A RIFF chunk, padded to an even size. */
export function riffChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(8 + data.length + (data.length % 2));
  chunk.write(type, 0, "latin1");
  chunk.writeUInt32LE(data.length, 4);
  data.copy(chunk, 8);
  return chunk;
}

/** A WebP file of these chunks. */
export function webpFile(chunks: readonly Buffer[], after: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat(chunks);
  const header = Buffer.from("RIFF\0\0\0\0WEBP", "latin1");
  header.writeUInt32LE(4 + body.length, 4);
  return Buffer.concat([header, body, after]);
}

/** A lossy picture chunk. */
export function webpLossy(width = 32, height = 32): Buffer {
  const data = Buffer.alloc(20);
  data.writeUIntLE(0x10 | (4 << 5), 0, 3); // A key frame that is shown, first partition of 4 bytes.
  data.writeUIntBE(0x9d012a, 3, 3);
  data.writeUInt16LE(width, 6);
  data.writeUInt16LE(height, 8);
  return riffChunk("VP8 ", data);
}

/** A lossless picture chunk. */
export function webpLossless(width = 32, height = 32): Buffer {
  const data = Buffer.alloc(11);
  data.writeUInt8(0x2f, 0);
  data.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  return riffChunk("VP8L", data);
}

/** The header chunk of an extended WebP file. */
export function webpHeader(flags: number, width = 32, height = 32): Buffer {
  const data = Buffer.alloc(10);
  data.writeUInt8(flags, 0);
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return riffChunk("VP8X", data);
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

/** What `cameraExif(6)` must come down to. */
export const ORIENTATION_6_TIFF = Buffer.from("49492a00080000000100120103000100000006000000" + "00000000", "hex");
