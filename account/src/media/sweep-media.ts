// Finds the objects of the media store that this user store does not know, for a person to look at,
// and removes them. Another installation, or a newer state of this one, may still need them.
import { LEFT_OVER_AGE_MS, type MediaStore, type StoredMedia, userOfMedia } from "./media-store.ts";

/** Objects that are looked up in one call of the user store. */
const BATCH = 500;

/** So many failed removals end a sweep: then the store does not work. Bounds its time. */
const FAILED_MAX = 100;

/** The dependencies of a sweep. */
export interface SweepDeps {
  readonly media: Pick<MediaStore, "list" | "remove">;
  /** The avatar keys that the records and intents of these users name. */
  readonly findAvatarKeys: (userIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** The objects of a media store. */
export interface SweepReport {
  /** How many were looked at. */
  readonly objects: number;
  /** Those that no record and no intent names; young ones, which a registration may have just stored, are left out. */
  readonly unnamed: readonly StoredMedia[];
}

/** Looks at every object. Rejects when the objects or the users cannot be read. */
export async function findUnnamedMedia({ media, findAvatarKeys, clock, signal }: SweepDeps): Promise<SweepReport> {
  const oldestMs = clock() - LEFT_OVER_AGE_MS;
  const unnamed: StoredMedia[] = [];
  let objects = 0;
  let batch: StoredMedia[] = [];
  const lookUp = async (): Promise<void> => {
    const named = await findAvatarKeys([...new Set(batch.map(({ key }) => userOfMedia(key)))]);
    unnamed.push(...batch.filter(({ key, modifiedAtMs }) => !named.has(key) && modifiedAtMs <= oldestMs));
    batch = [];
  };
  for await (const stored of media.list()) {
    signal.throwIfAborted();
    objects += 1;
    batch.push(stored);
    if (batch.length === BATCH) await lookUp();
  }
  await lookUp();
  return { objects, unnamed };
}

/** Removes the objects. Counts those that cannot be removed, with the error of the last. */
export async function removeMedia(
  { media, signal }: Pick<SweepDeps, "media" | "signal">,
  objects: readonly StoredMedia[],
): Promise<{ readonly removed: number; readonly failed: number; readonly failure: unknown }> {
  let removed = 0;
  const failures: unknown[] = [];
  for (const { key } of objects) {
    signal.throwIfAborted();
    try {
      await media.remove(key);
      removed += 1;
    } catch (error) {
      failures.push(error);
      if (failures.length === FAILED_MAX) break;
    }
  }
  return { removed, failed: failures.length, failure: failures.at(-1) };
}
