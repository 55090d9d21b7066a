// Decodes a file with sharp and encodes it again. Runs in the image process only: a decoder of
// strangers' files is where memory gets corrupted.
import sharp, { type Metadata } from "sharp";
import { AVATAR_LIMITS, type ImageFormat, IMAGE_FORMATS, type ImageResult, type StoredImageLimits } from "../image.ts";

/** The only loaders of libvips that are not blocked. */
const LOADERS = ["VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadWebpBuffer"];

/**
 * How images are encoded: fast enough for the largest picture, and in little memory; with what follows
 * when the result is too large. An optimised JPEG would be 10 % smaller, but its encoder keeps the whole
 * picture.
 */
const ENCODINGS = {
  png: [{ compressionLevel: 2 }, { palette: true, effort: 1 }, { palette: true, effort: 1, colours: 16 }],
  jpeg: [85, 60, 30].map((quality) => ({ quality, optimiseCoding: false })),
  webp: [85, 60, 30].map((quality) => ({ quality, effort: 0 })),
};

/** Sets sharp up for one image at a time, in little memory, with the accepted formats only. */
export function setUpSharp(): void {
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: LOADERS });
  sharp.cache(false);
  sharp.concurrency(1);
}

/**
 * Browsers show a picture about which the decoder only warns, such as that of a Samsung camera whose
 * header of the scan is wrong.
 */
const INPUT = { failOn: "error" } as const;

/**
 * Reads the header and refuses by it before anything is decoded; then decodes the picture, turns it
 * upright, shrinks it, and encodes it without metadata. Never rejects because of the file.
 */
export async function recodeImage(bytes: Buffer, { maxPixels, maxBytes }: StoredImageLimits): Promise<ImageResult> {
  let header: Metadata;
  try {
    header = await sharp(bytes, { ...INPUT, limitInputPixels: false }).metadata();
  } catch {
    return { ok: false, problem: "type" }; // The message of libvips says more, but only about the caller's bytes.
  }
  const { format, width, height } = header;
  if (!isAccepted(format)) return { ok: false, problem: "type" };
  if ((header.pages ?? 1) > 1) return { ok: false, problem: "animated" };
  if (!isSizeAccepted(format, width, height)) return { ok: false, problem: "dimensions" };
  const scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  const shrunk = (side: number): number => Math.max(1, Math.floor(side * scale));
  const { autoOrient: upright } = header;
  try {
    const picture = sharp(bytes, { ...INPUT, limitInputPixels: AVATAR_LIMITS.jpegAreaMaxPixels, autoOrient: true });
    if (scale < 1) picture.resize(shrunk(upright.width), shrunk(upright.height), { fit: "fill" });
    const [first, ...lower] = ENCODINGS[format];
    const { data, info } = await picture.toFormat(format, first).toBuffer({ resolveWithObject: true });
    let encoded = data;
    for (const encoding of lower)
      if (encoded.length > maxBytes) encoded = await sharp(encoded).toFormat(format, encoding).toBuffer();
    if (encoded.length > maxBytes) return { ok: false, problem: "too_large" };
    return { ok: true, image: { format, width: info.width, height: info.height, bytes: encoded } };
  } catch {
    return { ok: false, problem: "damaged" };
  }
}

function isAccepted(format: string): format is ImageFormat {
  return Object.hasOwn(IMAGE_FORMATS, format);
}

function isSizeAccepted(format: ImageFormat, width: number, height: number): boolean {
  const { sideMinPixels, sideMaxPixels, jpegSideMaxPixels, jpegAreaMaxPixels } = AVATAR_LIMITS;
  if (Math.min(width, height) < sideMinPixels || width * height > jpegAreaMaxPixels) return false;
  return Math.max(width, height) <= (format === "jpeg" ? jpegSideMaxPixels : sideMaxPixels);
}
