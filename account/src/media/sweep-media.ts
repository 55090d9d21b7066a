// Removes what registrations left behind in the media store: images that no user's record names, and
// unfinished files.
import { MEDIA_KEY, type MediaStore, type StoredMedia, userOfMedia } from "./media-store.ts";

/**
 * Age from which an image without a user is left over, in milliseconds: no registration takes as
 * long.
 */
const AGE_MIN_MS = 3_600_000;

/** Names that are looked up in one call of the user store. */
const BATCH = 500;

/** Most that one sweep removes; the next one continues. Bounds its memory. */
const REMOVED_MAX = 10_000;

/** Up to so many orphans are removed without looking at their share, when any image has a user. */
const FEW = 20;

/** So many failed removals end a sweep: then the store does not work. Bounds its time. */
const FAILED_MAX = 100;

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
  /** Those that could not be removed; the next sweep tries again. */
  readonly failed: number;
  /** The error of the last of them. */
  readonly failure?: unknown;
  /**
   * True when most images, or all, have no user and nothing was removed: then it is likelier that the
   * user store is a wrong or an older one than that they are left over.
   */
  readonly isRefused: boolean;
}

/**
 * Sweeps once. Rejects when the images or the users cannot be read; an image that cannot be removed
 * is counted.
 */
export async function sweepMedia(deps: SweepDeps, { isForced, signal }: SweepOptions): Promise<SweepReport> {
  const oldestMs = deps.clock() - AGE_MIN_MS;
  const orphans: string[] = [];
  let images = 0;
  let hasUsers = false;
  let batch: StoredMedia[] = [];
  const lookUp = async (): Promise<void> => {
    const kept = await deps.findAvatarKeys([...new Set(batch.map(({ name }) => userOfMedia(name)))]);
    for (const { name, modifiedAtMs } of batch) {
      if (kept.has(name)) hasUsers = true;
      else if (modifiedAtMs <= oldestMs) orphans.push(name);
    }
    batch = [];
  };
  for await (const stored of deps.media.list()) {
    signal.throwIfAborted();
    if (MEDIA_KEY.test(stored.name)) images += 1;
    batch.push(stored);
    if (batch.length === BATCH) await lookUp();
    if (orphans.length >= REMOVED_MAX) break;
  }
  await lookUp();
  const orphanImages = orphans.filter((name) => MEDIA_KEY.test(name)).length;
  const isMost = orphanImages > FEW && orphanImages > images / 2;
  const isRefused = !isForced && orphanImages > 0 && (isMost || !hasUsers);
  const found = { images, orphans: orphans.length, isRefused };
  return isRefused ? { ...found, removed: 0, failed: 0 } : { ...found, ...(await removeAll(deps, orphans, signal)) };
}

async function removeAll(
  { media }: SweepDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Pick<SweepReport, "removed" | "failed" | "failure">> {
  let removed = 0;
  const failures: unknown[] = [];
  for (const name of names) {
    signal.throwIfAborted();
    try {
      await media.remove(name);
      removed += 1;
    } catch (error) {
      failures.push(error);
      if (failures.length === FAILED_MAX) break;
    }
  }
  const failed = failures.length;
  return failed === 0 ? { removed, failed } : { removed, failed, failure: failures.at(-1) };
}
