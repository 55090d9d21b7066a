// The images of the service: formats, limits, an image that is safe to store, and the interface of the
// cleaner that makes one.
import type { CallerGroup } from "@weir/common/callers/caller-group";

/** The bounds of an accepted image. */
export const AVATAR_LIMITS = {
  sideMinPixels: 16,
  sideMaxPixels: 4096,
  /** A JPEG is shrunk while it is decoded: a photo of a phone has up to 50 megapixels. */
  jpegSideMaxPixels: 16_384,
  jpegAreaMaxPixels: 50_331_648,
} as const;

/** The bounds of an image that is stored. */
export interface StoredImageLimits {
  /** Most pixels, width by height; AVATAR_MAX_PIXELS. */
  readonly maxPixels: number;
  /** AVATAR_MAX_BYTES. */
  readonly maxBytes: number;
}

/** The formats an image may have, with the type and extension that they are served with. */
export const IMAGE_FORMATS = {
  png: { mimeType: "image/png", extension: "png" },
  jpeg: { mimeType: "image/jpeg", extension: "jpg" },
  webp: { mimeType: "image/webp", extension: "webp" },
} as const;

/** One of the accepted formats. */
export type ImageFormat = keyof typeof IMAGE_FORMATS;

/** An image to store: decoded and encoded again, upright, without metadata. */
export interface CleanImage {
  readonly format: ImageFormat;
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

/**
 * Why a file is not taken: its header is of none of the formats, its picture is damaged, it has more
 * than one picture, its sides are too short or too long, it takes too much time or memory, or it has
 * too many bytes at the lowest quality.
 */
export const IMAGE_PROBLEMS = ["type", "damaged", "animated", "dimensions", "complex", "too_large"] as const;

export type ImageProblem = (typeof IMAGE_PROBLEMS)[number];

/** An image, or why the file is not taken. */
export type ImageResult =
  { readonly ok: true; readonly image: CleanImage } | { readonly ok: false; readonly problem: ImageProblem };

/** Makes images that are safe to store out of what callers send. */
export interface ImageCleaner {
  /**
   * Decodes the file, shrinks it, and encodes it again in its own format. Groups of callers take turns. Rejects
   * with `busy` when too many wait, with the reason of `call` when that is aborted before its turn, with
   * `rate_limited` for a customer whose last image had to be stopped a short while ago, and with
   * `media_store_unavailable` when no image can be decoded at all.
   */
  clean(bytes: Buffer, group: CallerGroup, call?: AbortController): Promise<ImageResult>;
}
