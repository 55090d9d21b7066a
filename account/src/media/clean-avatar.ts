// An avatar as a caller sent it, made safe to store, or the error that names what is wrong with it.
import type { CallerGroup } from "@weir/common/callers/caller-group";
import { fieldError } from "../errors.ts";
import { AVATAR_LIMITS, type CleanImage, type ImageCleaner } from "./image.ts";

const MESSAGES = {
  type: "The avatar must be a PNG, JPEG or WebP image.",
  damaged: "The avatar is damaged or not complete.",
  animated: "The avatar must not be animated.",
  complex: "The avatar takes too long to decode. Send a smaller or simpler image.",
  dimensions: `The avatar must measure ${AVATAR_LIMITS.sideMinPixels} to ${AVATAR_LIMITS.sideMaxPixels} pixels on each side; a JPEG may have 50 megapixels.`,
  too_large: "The avatar has too much detail to be stored. Send a smaller or simpler image.",
} as const;

/** The image to store; rejects with `avatar_type`, `avatar_invalid`, and as ImageCleaner does. */
export async function cleanAvatar(
  images: ImageCleaner,
  bytes: Buffer,
  group: CallerGroup,
  call: AbortController,
): Promise<CleanImage> {
  const result = await images.clean(bytes, group, call);
  if (result.ok) return result.image;
  const { problem } = result;
  const field = { field: "avatar", message: MESSAGES[problem], code: `avatar_${problem}` } as const;
  throw fieldError(problem === "type" || problem === "too_large" ? `avatar_${problem}` : "avatar_invalid", field);
}
