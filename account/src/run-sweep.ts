// Runs `weir-account sweep`: lists the objects of the media store that the user store does not know,
// and removes them with --delete. The service may run meanwhile.
import { resolve } from "node:path";
import { describeError } from "@weir/common/errors/service-error";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { maskCredentials } from "@weir/common/settings/secret";
import type { StoredMedia } from "./media/media-store.ts";
import { findUnnamedMedia, removeMedia } from "./media/sweep-media.ts";
import { createMediaStore } from "./service-media.ts";
import type { Settings } from "./settings/settings.ts";
import { createUserStore } from "./store/create-user-store.ts";

const HOUR_MS = 3_600_000;
const HOURS_OF_DAY = 24;

/** Reasons to keep the objects, which only a person can know. */
const WARNING = `
No account here uses these images. Images of another installation on the same bucket look the same, and so do
those of accounts that are newer than the backup from which this user store was restored. If it can be neither,
weir-account sweep --delete removes them, without a way back.
`;

/** Prints the objects, removes them when `isDeleting`, and resolves to the exit code. */
export async function runSweep(
  settings: Settings,
  { isDeleting }: { readonly isDeleting: boolean },
  context: ProgramContext,
): Promise<number> {
  const log = createLog(settings.log);
  context.useLog(log);
  const dataDirectory = resolve(settings.dataDirectory);
  const store = createUserStore(settings.store, { log }, { dataDirectory, access: "read" });
  const { store: media, parts } = createMediaStore(settings, { log, dataDirectory, url: () => "" });
  try {
    await store.start();
    for (const part of parts) await part.start?.();
    const findAvatarKeys = (ids: readonly string[]): Promise<ReadonlySet<string>> => store.findAvatarKeys(ids);
    const deps = { media, findAvatarKeys, clock: Date.now, signal: context.signal };
    const { objects, unnamed } = await findUnnamedMedia(deps);
    for (const object of unnamed) context.stdout(describe(object));
    const removed = isDeleting ? await removeMedia(deps, unnamed) : undefined;
    const then = removed === undefined ? "" : `; removed ${removed.removed}`;
    context.stdout(`Looked at ${objects} objects, ${unnamed.length} of them without an account${then}\n`);
    if (removed === undefined && unnamed.length > 0) context.stdout(WARNING);
    if (removed === undefined || removed.failed === 0) return 0;
    const reason = maskCredentials(describeError(removed.failure));
    context.stderr(`weir-account: Cannot remove ${removed.failed} of the images: ${reason}\n`);
    return 1;
  } finally {
    for (const part of parts) await part.stop?.();
    await store.stop();
  }
}

/** A line with the time of the object, its age and its key. */
function describe({ key, modifiedAtMs }: StoredMedia): string {
  const hours = Math.floor((Date.now() - modifiedAtMs) / HOUR_MS);
  const age = hours < HOURS_OF_DAY ? `${hours} h` : `${Math.floor(hours / HOURS_OF_DAY)} d`;
  return `${new Date(modifiedAtMs).toISOString()}  ${age.padStart(6)}  ${key}\n`;
}
