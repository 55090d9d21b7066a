// Walks and rewrites JPEG files (ITU-T T.81, annex B). Keeps tables, frame and scans, the colour
// profile and the colour transform; of EXIF only the orientation.
import { orientationTiff, readOrientation } from "./exif-orientation.ts";
import { DAMAGED, type RewriteResult } from "./image-format.ts";

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const DQT = 0xdb;
const DHT = 0xc4;
const DRI = 0xdd;
const COM = 0xfe;
const APP0 = 0xe0;
const APP1 = 0xe1;
const APP2 = 0xe2;
const APP14 = 0xee;
const APP15 = 0xef;

/**
 * Frames that browsers show: baseline, extended sequential and progressive, all with Huffman
 * coding.
 */
const FRAMES: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc2]);

const EXIF_HEADER = Buffer.from("Exif\0\0", "latin1");
const PROFILE_HEADER = Buffer.from("ICC_PROFILE\0", "latin1");
const JFIF_HEADER = Buffer.from("JFIF\0", "latin1");
const ADOBE_HEADER = Buffer.from("Adobe", "latin1");

/** Bytes of JFIF data without its thumbnail. */
const JFIF_BYTES = 14;

/** Bytes of Adobe's data that say how colours are transformed. */
const ADOBE_BYTES = 12;

/** Whether the bytes start as a JPEG file. */
export function isJpeg(bytes: Buffer): boolean {
  return bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === SOI && bytes[2] === 0xff;
}

/** What the walk has found so far. */
interface Walk {
  readonly out: Buffer[];
  size: { readonly width: number; readonly height: number } | undefined;
  hasScan: boolean;
  hasExif: boolean;
}

/** Checks the structure and rewrites the file up to its end marker. */
export function rewriteJpeg(bytes: Buffer): RewriteResult {
  const walk: Walk = { out: [Buffer.from([0xff, SOI])], size: undefined, hasScan: false, hasExif: false };
  let at = 2;
  while (at + 1 < bytes.length) {
    if (bytes[at] !== 0xff) return DAMAGED;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1; // A fill byte: any number of them may precede a marker.
      continue;
    }
    if (marker === EOI) return finish(walk);
    if (at + 4 > bytes.length) return DAMAGED;
    const length = bytes.readUInt16BE(at + 2);
    const end = at + 2 + length;
    if (length < 2 || end > bytes.length) return DAMAGED;
    if (!takeSegment(walk, marker, bytes.subarray(at + 4, end))) return DAMAGED;
    at = end;
    if (marker === SOS) {
      const scanEnd = findScanEnd(bytes, at);
      walk.out.push(bytes.subarray(at, scanEnd));
      at = scanEnd;
    }
  }
  return DAMAGED; // No end marker.
}

function finish(walk: Walk): RewriteResult {
  if (walk.size === undefined || !walk.hasScan) return DAMAGED;
  walk.out.push(Buffer.from([0xff, EOI]));
  return { ok: true, ...walk.size, bytes: Buffer.concat(walk.out) };
}

/** Copies, rewrites or drops one segment; false when it makes the file unreadable. */
function takeSegment(walk: Walk, marker: number, data: Buffer): boolean {
  if (FRAMES.has(marker)) return takeFrame(walk, marker, data);
  if (marker === SOS) {
    const components = data[0] ?? 0;
    if (walk.size === undefined || components < 1 || components > 4 || data.length !== 4 + 2 * components) return false;
    walk.hasScan = true;
    walk.out.push(segment(marker, data));
    return true;
  }
  if (marker === DQT || marker === DHT || marker === DRI) {
    walk.out.push(segment(marker, data));
    return true;
  }
  if (marker === COM || (marker >= APP0 && marker <= APP15)) {
    const kept = keptApplicationData(walk, marker, data);
    if (kept !== undefined) walk.out.push(segment(marker, kept));
    return true;
  }
  return false; // Arithmetic, lossless and hierarchical frames, and markers that do not belong here.
}

function takeFrame(walk: Walk, marker: number, data: Buffer): boolean {
  if (walk.size !== undefined || data.length < 6) return false;
  const components = data.readUInt8(5);
  if (![1, 3, 4].includes(components) || data.length !== 6 + 3 * components || data.readUInt8(0) !== 8) return false;
  walk.size = { height: data.readUInt16BE(1), width: data.readUInt16BE(3) };
  walk.out.push(segment(marker, data));
  return true;
}

/**
 * The part of a comment or application segment that belongs to the picture, or undefined when none
 * does.
 */
function keptApplicationData(walk: Walk, marker: number, data: Buffer): Buffer | undefined {
  if (marker === APP2 && startsWith(data, PROFILE_HEADER)) return data;
  if (marker === APP14 && startsWith(data, ADOBE_HEADER) && data.length >= ADOBE_BYTES)
    return data.subarray(0, ADOBE_BYTES);
  if (marker === APP0 && startsWith(data, JFIF_HEADER) && data.length >= JFIF_BYTES) {
    const withoutThumbnail = Buffer.from(data.subarray(0, JFIF_BYTES));
    withoutThumbnail.writeUInt16BE(0, JFIF_BYTES - 2);
    return withoutThumbnail;
  }
  if (marker === APP1 && startsWith(data, EXIF_HEADER) && !walk.hasExif) {
    walk.hasExif = true;
    const orientation = readOrientation(data.subarray(EXIF_HEADER.length));
    return orientation === undefined ? undefined : Buffer.concat([EXIF_HEADER, orientationTiff(orientation)]);
  }
  return undefined;
}

/**
 * Where the coded data of a scan ends: at the first marker that is neither a stuffed byte nor a
 * restart.
 */
function findScanEnd(bytes: Buffer, start: number): number {
  let at = bytes.indexOf(0xff, start);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes.readUInt8(at + 1);
    if (next !== 0x00 && (next < 0xd0 || next > 0xd7)) return at;
    at = bytes.indexOf(0xff, at + 2);
  }
  return bytes.length;
}

function segment(marker: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(0xff00 | marker, 0);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

function startsWith(data: Buffer, prefix: Buffer): boolean {
  return data.subarray(0, prefix.length).equals(prefix);
}
