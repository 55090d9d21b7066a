// Removes what registrations left behind in the media store: images that no user's record names, and
// unfinished files.
import { MEDIA_KEY, type MediaStore, userOfMedia } from "./media-store.ts";

/**
 * Age from which an image without a user is left over, in milliseconds: no registration takes as
 * long.
 */
const AGE_MIN_MS = 3_600_000;

/** Names that are looked up in one call of the user store. */
const BATCH = 500;

/** Most that one sweep removes; the next one continues. Bounds its memory. */
const REMOVED_MAX = 10_000;

/** Up to so many orphans are removed without looking at their share. */
const FEW = 20;

/** The dependencies of a sweep. */
export interface SweepDeps {
  readonly media: Pick<MediaStore, "list" | "remove">;
  /** The avatar keys that the records of these users name. */
  readonly findAvatarKeys: (userIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** The options of a sweep. */
export interface SweepOptions {
  /** Removes orphans even when most images are: see `isRefused`. */
  readonly isForced: boolean;
  readonly signal: AbortSignal;
}

/** What a sweep has found. */
export interface SweepReport {
  /** Images that were looked at. */
  readonly images: number;
  /** Images without a user, and unfinished files. */
  readonly orphans: number;
  readonly removed: number;
  /**
   * True when most images have no user and nothing was removed: then it is likelier that the user
   * store is a wrong or an older one than that they are left over.
   */
  readonly isRefused: boolean;
}

/** Sweeps once. Rejects when one of the stores fails; what is removed by then stays removed. */
export async function sweepMedia(deps: SweepDeps, { isForced, signal }: SweepOptions): Promise<SweepReport> {
  const oldestMs = deps.clock() - AGE_MIN_MS;
  const orphans: string[] = [];
  let images = 0;
  let batch: string[] = [];
  const lookUp = async (): Promise<void> => {
    const kept = await deps.findAvatarKeys([...new Set(batch.map(userOfMedia))]);
    orphans.push(...batch.filter((name) => !kept.has(name)));
    batch = [];
  };
  for await (const { name, modifiedAtMs } of deps.media.list()) {
    signal.throwIfAborted();
    if (MEDIA_KEY.test(name)) images += 1;
    if (modifiedAtMs > oldestMs) continue;
    batch.push(name);
    if (batch.length === BATCH) await lookUp();
    if (orphans.length >= REMOVED_MAX) break;
  }
  await lookUp();
  const orphanImages = orphans.filter((name) => MEDIA_KEY.test(name)).length;
  const isRefused = !isForced && orphanImages > FEW && orphanImages > images / 2;
  if (isRefused) return { images, orphans: orphans.length, removed: 0, isRefused };
  for (const name of orphans) {
    signal.throwIfAborted();
    await deps.media.remove(name);
  }
  return { images, orphans: orphans.length, removed: orphans.length, isRefused };
}
