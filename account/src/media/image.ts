// Checks by content whether bytes are an accepted image, and rewrites them without EXIF and its
// position, XMP, text, comments and trailing bytes. It decompresses nothing.
import type { ImageProblem } from "./image-format.ts";
import { isJpeg, rewriteJpeg } from "./jpeg.ts";
import { isPng, rewritePng } from "./png.ts";
import { isWebp, rewriteWebp } from "./webp.ts";

/** The bounds of an accepted image. */
export interface ImageLimits {
  readonly sideMinPixels: number;
  readonly sideMaxPixels: number;
  readonly areaMaxPixels: number;
}

/** Sides from 16 to 4096 pixels and at most 4096 x 4096: what viewers decode without harm. */
export const AVATAR_LIMITS: ImageLimits = { sideMinPixels: 16, sideMaxPixels: 4096, areaMaxPixels: 16_777_216 };

/** The formats an image may have, with the type and extension that they are served with. */
export const IMAGE_FORMATS = {
  png: { mimeType: "image/png", extension: "png" },
  jpeg: { mimeType: "image/jpeg", extension: "jpg" },
  webp: { mimeType: "image/webp", extension: "webp" },
} as const;

/** One of the accepted formats. */
export type ImageFormat = keyof typeof IMAGE_FORMATS;

/** An accepted image; `bytes` is the rewritten file. */
export interface CleanImage {
  readonly format: ImageFormat;
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

/**
 * An image, or why the bytes are refused: the format is not one of ours, the file is damaged, or it
 * is too small or too big to show.
 */
export type ImageResult =
  | { readonly ok: true; readonly image: CleanImage }
  | { readonly ok: false; readonly problem: ImageProblem | "dimensions" };

/** Checks and rewrites `bytes`; takes linear time and never throws, whatever the bytes are. */
export function cleanImage(bytes: Buffer, limits: ImageLimits): ImageResult {
  const format = detectFormat(bytes);
  if (format === undefined) return { ok: false, problem: "type" };
  const rewritten = REWRITERS[format](bytes);
  if (!rewritten.ok) return rewritten;
  const { width, height } = rewritten;
  if (Math.min(width, height) < limits.sideMinPixels || Math.max(width, height) > limits.sideMaxPixels)
    return { ok: false, problem: "dimensions" };
  if (width * height > limits.areaMaxPixels) return { ok: false, problem: "dimensions" };
  return { ok: true, image: { format, width, height, bytes: rewritten.bytes } };
}

const REWRITERS = { png: rewritePng, jpeg: rewriteJpeg, webp: rewriteWebp };

function detectFormat(bytes: Buffer): ImageFormat | undefined {
  if (isPng(bytes)) return "png";
  if (isJpeg(bytes)) return "jpeg";
  if (isWebp(bytes)) return "webp";
  return undefined;
}
