// Decodes a file with sharp and encodes it again. Runs in the image process only: a decoder of
// strangers' files is where memory gets corrupted.
import sharp, { type Metadata } from "sharp";
import { type ImageFormat, type ImageLimits, IMAGE_FORMATS, type ImageResult } from "../image.ts";
import { IMAGE_MAX_BYTES } from "./frames.ts";

/** The only loaders of libvips that are not blocked. */
const LOADERS = ["VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadWebpBuffer"];

/**
 * How images are encoded: fast enough for the largest picture, and in little memory. An optimised JPEG
 * would be 10 % smaller, but its encoder keeps the whole picture.
 */
const ENCODINGS = {
  png: { compressionLevel: 2 },
  jpeg: { quality: 85, optimiseCoding: false },
  webp: { quality: 85, effort: 0 },
} as const;

/** Sets sharp up for one image at a time, in little memory, with the accepted formats only. */
export function setUpSharp(): void {
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: LOADERS });
  sharp.cache(false);
  sharp.concurrency(1);
}

/**
 * Reads the header and refuses by it before anything is decoded; then decodes the picture, turns it
 * upright, and encodes it without metadata. Never rejects because of the file.
 */
export async function recodeImage(bytes: Buffer, limits: ImageLimits): Promise<ImageResult> {
  let header: Metadata;
  try {
    header = await sharp(bytes, { failOn: "warning", limitInputPixels: false }).metadata();
  } catch {
    return { ok: false, problem: "type" }; // The message of libvips says more, but only about the caller's bytes.
  }
  const { format, width, height } = header;
  if (!isAccepted(format)) return { ok: false, problem: "type" };
  if ((header.pages ?? 1) > 1) return { ok: false, problem: "animated" };
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  if (short < limits.sideMinPixels || long > limits.sideMaxPixels || short * long > limits.areaMaxPixels)
    return { ok: false, problem: "dimensions" };
  try {
    const picture = sharp(bytes, { failOn: "warning", limitInputPixels: limits.areaMaxPixels, autoOrient: true });
    const { data, info } = await picture.toFormat(format, ENCODINGS[format]).toBuffer({ resolveWithObject: true });
    if (data.length > IMAGE_MAX_BYTES) return { ok: false, problem: "complex" };
    return { ok: true, image: { format, width: info.width, height: info.height, bytes: data } };
  } catch {
    return { ok: false, problem: "damaged" };
  }
}

function isAccepted(format: string): format is ImageFormat {
  return Object.hasOwn(IMAGE_FORMATS, format);
}
