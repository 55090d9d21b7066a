// What an image is to the service: formats, limits, an image that is safe to store, and the interface
// of what makes one.

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

/** An image to store: decoded and encoded again, upright, without metadata. */
export interface CleanImage {
  readonly format: ImageFormat;
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

/**
 * Why a file is not taken: its header is of none of the formats, its picture is damaged, it has more
 * than one picture, its sides are too short or too long, or it takes too much time or memory.
 */
export const IMAGE_PROBLEMS = ["type", "damaged", "animated", "dimensions", "complex"] as const;

/** One of the problems. */
export type ImageProblem = (typeof IMAGE_PROBLEMS)[number];

/** An image, or why the file is not taken. */
export type ImageResult =
  { readonly ok: true; readonly image: CleanImage } | { readonly ok: false; readonly problem: ImageProblem };

/** Makes images that are safe to store out of what callers send. */
export interface ImageCleaner {
  /**
   * Decodes the file and encodes it again in its own format. `addressPrefix` is that of the caller:
   * prefixes take turns. Rejects with `busy` when too many wait, and with `media_store_unavailable`
   * when no image can be decoded at all.
   */
  clean(bytes: Buffer, addressPrefix: string): Promise<ImageResult>;
}
