// Walks and rewrites WebP files (RFC 9649). Keeps the picture, its transparency and colour profile;
// of EXIF only the orientation. Animations are refused: an avatar is one picture.
import { orientationTiff, readOrientation } from "./exif-orientation.ts";
import { DAMAGED, type RewriteResult } from "./image-format.ts";

/** "RIFF", the size, "WEBP". */
const FILE_HEADER_BYTES = 12;

/** Type and size before the data of each chunk. */
const CHUNK_HEADER_BYTES = 8;

/** Flags of the extended header (RFC 9649 section 2.7). */
const FLAG = { profile: 0x20, alpha: 0x10, exif: 0x08, animation: 0x02 } as const;

/** Whether the bytes start as a WebP file. */
export function isWebp(bytes: Buffer): boolean {
  return (
    bytes.length >= FILE_HEADER_BYTES &&
    bytes.toString("latin1", 0, 4) === "RIFF" &&
    bytes.toString("latin1", 8, 12) === "WEBP"
  );
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Checks the structure and rewrites the file up to the size its header states. */
export function rewriteWebp(bytes: Buffer): RewriteResult {
  const chunks = readChunks(bytes);
  if (chunks === undefined) return DAMAGED;
  const [first] = chunks;
  if (first?.type === "VP8X") return rewriteExtended(first.data, chunks);
  const size = first === undefined ? undefined : readPicture(first);
  if (size === undefined || first === undefined) return DAMAGED;
  return { ok: true, ...size, bytes: writeFile([first]) };
}

function rewriteExtended(header: Buffer, chunks: readonly Chunk[]): RewriteResult {
  if (header.length !== 10) return DAMAGED;
  const flags = header.readUInt8(0);
  if ((flags & FLAG.animation) !== 0 || chunks.some(({ type }) => type === "ANIM" || type === "ANMF"))
    return { ok: false, problem: "animated" };
  const pictures = chunks.filter(({ type }) => type === "VP8 " || type === "VP8L");
  const [picture] = pictures;
  const size = picture === undefined ? undefined : readPicture(picture);
  if (picture === undefined || size === undefined || pictures.length > 1) return DAMAGED;
  if (header.readUIntLE(4, 3) + 1 !== size.width || header.readUIntLE(7, 3) + 1 !== size.height) return DAMAGED;
  const profile = chunks.find(({ type }) => type === "ICCP");
  const alpha = picture.type === "VP8 " ? chunks.find(({ type }) => type === "ALPH") : undefined;
  const orientation = readExifOrientation(chunks.find(({ type }) => type === "EXIF"));
  const kept: Chunk[] = [];
  if (profile !== undefined) kept.push(profile);
  if (alpha !== undefined) kept.push(alpha);
  kept.push(picture);
  if (orientation !== undefined) kept.push({ type: "EXIF", data: orientationTiff(orientation) });
  const cleanHeader = Buffer.alloc(10);
  header.copy(cleanHeader, 4, 4);
  cleanHeader.writeUInt8(
    (flags & FLAG.alpha) | (profile === undefined ? 0 : FLAG.profile) | (orientation === undefined ? 0 : FLAG.exif),
    0,
  );
  return { ok: true, ...size, bytes: writeFile([{ type: "VP8X", data: cleanHeader }, ...kept]) };
}

/** All chunks within the stated size, or undefined when the file or a chunk is cut off. */
function readChunks(bytes: Buffer): readonly Chunk[] | undefined {
  const end = CHUNK_HEADER_BYTES + bytes.readUInt32LE(4);
  if (end > bytes.length) return undefined;
  const chunks: Chunk[] = [];
  let at = FILE_HEADER_BYTES;
  while (at < end) {
    if (at + CHUNK_HEADER_BYTES > end) return undefined;
    const length = bytes.readUInt32LE(at + 4);
    const dataEnd = at + CHUNK_HEADER_BYTES + length;
    if (dataEnd + (length % 2) > end) return undefined;
    chunks.push({ type: bytes.toString("latin1", at, at + 4), data: bytes.subarray(at + CHUNK_HEADER_BYTES, dataEnd) });
    at = dataEnd + (length % 2); // Chunks are padded to an even size.
  }
  return chunks;
}

/**
 * The size in a lossy or lossless picture chunk, or undefined when the chunk is no such picture.
 */
function readPicture({ type, data }: Chunk): Size | undefined {
  if (type === "VP8L") {
    if (data.length < 5 || data.readUInt8(0) !== 0x2f) return undefined;
    const bits = data.readUInt32LE(1);
    if (bits >>> 29 !== 0) return undefined; // Version: only 0 exists.
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (type !== "VP8 " || data.length < 10) return undefined;
  const tag = data.readUIntLE(0, 3); // RFC 6386 section 9.1.
  const isKeyFrame = (tag & 1) === 0;
  const isShown = ((tag >> 4) & 1) === 1;
  if (!isKeyFrame || !isShown || tag >> 5 > data.length - 10 || data.readUIntBE(3, 3) !== 0x9d012a) return undefined;
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
}

function readExifOrientation(chunk: Chunk | undefined): number | undefined {
  if (chunk === undefined) return undefined;
  const hasHeader = chunk.data.toString("latin1", 0, 6) === "Exif\0\0"; // Some writers put JPEG's header before the data.
  return readOrientation(hasHeader ? chunk.data.subarray(6) : chunk.data);
}

function writeFile(chunks: readonly Chunk[]): Buffer {
  const body = Buffer.concat(chunks.map(writeChunk));
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(4 + body.length, 4);
  header.write("WEBP", 8, "latin1");
  return Buffer.concat([header, body]);
}

function writeChunk({ type, data }: Chunk): Buffer {
  const chunk = Buffer.alloc(CHUNK_HEADER_BYTES + data.length + (data.length % 2));
  chunk.write(type, 0, "latin1");
  chunk.writeUInt32LE(data.length, 4);
  data.copy(chunk, CHUNK_HEADER_BYTES);
  return chunk;
}
