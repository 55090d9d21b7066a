// Walks and rewrites PNG files (PNG specification, third edition). Keeps the chunks that make the
// picture and its colours; an animation becomes its still picture.
import { crc32 } from "node:zlib";
import { orientationTiff, readOrientation } from "./exif-orientation.ts";
import { DAMAGED, type RewriteResult } from "./image-format.ts";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Length, type and checksum around the data of each chunk. */
const CHUNK_FRAME_BYTES = 12;

/** Chunks that are copied: the critical ones, transparency and colour. */
const KEPT = new Set([
  "IHDR",
  "PLTE",
  "IDAT",
  "IEND",
  "tRNS",
  "cHRM",
  "gAMA",
  "iCCP",
  "sBIT",
  "sRGB",
  "cICP",
  "mDCV",
  "cLLI",
  "bKGD",
  "pHYs",
]);

/** Bit depths that each colour type allows (table 12 of the PNG specification). */
const BIT_DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

const PALETTE_COLOUR_TYPE = 3;

/** Whether the bytes start as a PNG file. */
export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE);
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
  /** The whole chunk with length and checksum. */
  readonly whole: Buffer;
}

/** Checks the structure and every checksum, and rewrites the file up to its end chunk. */
export function rewritePng(bytes: Buffer): RewriteResult {
  const chunks = readChunks(bytes);
  const header = chunks?.[0];
  if (chunks === undefined || header?.type !== "IHDR") return DAMAGED;
  const size = readHeader(header.data);
  if (size === undefined || !isWellOrdered(chunks, size.colourType)) return DAMAGED;
  const out: Buffer[] = [SIGNATURE];
  for (const chunk of chunks) {
    if (KEPT.has(chunk.type)) out.push(chunk.whole);
    else if (isCritical(chunk.type))
      return DAMAGED; // A viewer must not show the picture without this chunk.
    else if (chunk.type === "eXIf") {
      const orientation = readOrientation(chunk.data);
      if (orientation !== undefined) out.push(writeChunk("eXIf", orientationTiff(orientation)));
    }
  }
  return { ok: true, width: size.width, height: size.height, bytes: Buffer.concat(out) };
}

/** All chunks up to the end chunk, or undefined when one is cut off or its checksum is wrong. */
function readChunks(bytes: Buffer): readonly Chunk[] | undefined {
  const chunks: Chunk[] = [];
  let at = SIGNATURE.length;
  while (at + CHUNK_FRAME_BYTES <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    const end = at + CHUNK_FRAME_BYTES + length;
    if (end > bytes.length) return undefined;
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (!/^[A-Za-z]{4}$/.test(type) || crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return undefined;
    chunks.push({ type, data: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) });
    if (type === "IEND") return length === 0 ? chunks : undefined;
    at = end;
  }
  return undefined;
}

function readHeader(data: Buffer): { width: number; height: number; colourType: number } | undefined {
  if (data.length !== 13) return undefined;
  const colourType = data.readUInt8(9);
  if (BIT_DEPTHS[colourType]?.includes(data.readUInt8(8)) !== true) return undefined;
  if (data.readUInt8(10) !== 0 || data.readUInt8(11) !== 0 || data.readUInt8(12) > 1) return undefined; // Compression, filter, interlace.
  return { width: data.readUInt32BE(0), height: data.readUInt32BE(4), colourType };
}

/** One header, at most one palette and before the picture, the picture data in one run. */
function isWellOrdered(chunks: readonly Chunk[], colourType: number): boolean {
  const types = chunks.map((chunk) => chunk.type);
  const first = types.indexOf("IDAT");
  const last = types.lastIndexOf("IDAT");
  const palette = types.indexOf("PLTE");
  if (first === -1 || types.slice(first, last).some((type) => type !== "IDAT")) return false;
  if (types.lastIndexOf("IHDR") !== 0 || types.lastIndexOf("PLTE") !== palette || palette > first) return false;
  return palette === -1 ? colourType !== PALETTE_COLOUR_TYPE : isPalette(chunks[palette]?.data);
}

function isPalette(data: Buffer | undefined): boolean {
  return data !== undefined && data.length % 3 === 0 && data.length >= 3 && data.length <= 768;
}

function isCritical(type: string): boolean {
  return /^[A-Z]/.test(type);
}

function writeChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(CHUNK_FRAME_BYTES + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, "latin1");
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}
