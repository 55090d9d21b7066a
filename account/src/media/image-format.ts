// Types that the three image formats share: the result of a rewrite, and the refusal of damaged
// files.

/**
 * Why a file of any size is refused: not one of the formats, a broken structure, or more than one
 * picture.
 */
export type ImageProblem = "type" | "damaged" | "animated";

/** A rewritten file with its size in pixels, or why there is none. */
export type RewriteResult =
  | { readonly ok: true; readonly width: number; readonly height: number; readonly bytes: Buffer }
  | { readonly ok: false; readonly problem: ImageProblem };

/** The refusal of a file whose structure is broken. */
export const DAMAGED: RewriteResult = { ok: false, problem: "damaged" };
