// Builds what stores and cleans avatars: the media store that the settings choose, and the image
// process.
import { join } from "node:path";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { type QueueOptions, WorkQueue } from "./fairness/work-queue.ts";
import { MEDIA_PATH } from "./http/media-route.ts";
import { ProcessImageCleaner } from "./media/images/process-image-cleaner.ts";
import { createLocalMediaStore, type LocalMediaStore } from "./media/local/local-media-store.ts";
import type { MediaStore } from "./media/media-store.ts";
import { S3MediaStore } from "./media/s3/s3-media-store.ts";
import type { AccountMetrics } from "./metrics/account-metrics.ts";
import type { Settings } from "./settings/settings.ts";
import { busyError } from "./passwords/password-hasher.ts";

/**
 * How many images may wait, and how long, before a registration is refused as busy. The wait is
 * enough for one turn after the slowest images of six addresses.
 */
const IMAGES_WAITING_MAX = 128;
const IMAGE_WAIT_MAX_MS = 15_000;

/** Longest time for one image, in milliseconds. */
const IMAGE_TIMEOUT_MS = 2000;

/** Memory of the image process: in which the largest image fits, and what it may keep; in bytes. */
const IMAGE_MEMORY_MAX_BYTES = 512 * 1024 * 1024;
const IMAGE_MEMORY_IDLE_BYTES = 128 * 1024 * 1024;

/** A media store with what must start and stop with it. */
export interface ServiceMediaStore {
  readonly store: MediaStore;
  /** The store whose images this service serves itself. */
  readonly served: LocalMediaStore | undefined;
  readonly parts: readonly Part[];
}

/** The store that the settings choose; `dataDirectory` is an absolute path, `url` that of the service. */
export function createMediaStore(
  { media }: Pick<Settings, "media">,
  { log, dataDirectory, url }: { readonly log: Log; readonly dataDirectory: string; readonly url: () => string },
): ServiceMediaStore {
  if (media.kind === "s3") {
    const store = new S3MediaStore({ log }, media);
    return { store, served: undefined, parts: [store] };
  }
  const store = createLocalMediaStore({
    directory: join(dataDirectory, "media"),
    publicUrl: () => media.publicUrl ?? `${url()}${MEDIA_PATH}`,
  });
  return { store, served: store, parts: [] };
}

/** The queue of avatars. */
export function createImageQueue(options: Pick<QueueOptions, "nowMs" | "onDone" | "onDepth">): WorkQueue {
  return new WorkQueue({
    ...options,
    concurrency: 1,
    placesMax: IMAGES_WAITING_MAX,
    waitMaxMs: IMAGE_WAIT_MAX_MS,
    refusal: busyError,
  });
}

/** Cleans the avatars of all callers, one after the other. */
export function createImageCleaner(
  { avatarMaxPixels, avatarMaxBytes }: Pick<Settings, "avatarMaxPixels" | "avatarMaxBytes">,
  log: Log,
  metrics: AccountMetrics,
): ProcessImageCleaner {
  const nowMs = (): number => performance.now();
  const queue = createImageQueue({ nowMs, onDone: metrics.imageCleaned, onDepth: metrics.imagesWaiting });
  return new ProcessImageCleaner(
    { log, queue, nowMs, onProcessEnded: metrics.imageProcessEnded },
    {
      timeoutMs: IMAGE_TIMEOUT_MS,
      memoryMaxBytes: IMAGE_MEMORY_MAX_BYTES,
      idleMemoryMaxBytes: IMAGE_MEMORY_IDLE_BYTES,
      maxPixels: avatarMaxPixels,
      maxBytes: avatarMaxBytes,
    },
  );
}
