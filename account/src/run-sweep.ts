// Runs `weir-account sweep`: removes the images that no user's record names. The service may run
// meanwhile.
import { resolve } from "node:path";
import { describeError } from "@weir/common/errors/service-error";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { maskCredentials } from "@weir/common/settings/secret";
import { sweepMedia } from "./media/sweep-media.ts";
import { createMediaStore } from "./service-media.ts";
import type { Settings } from "./settings.ts";
import { createUserStore } from "./store/create-user-store.ts";

/**
 * Sweeps once, prints what was found, and resolves to the exit code. Without `isForced` nothing is
 * removed when most or all images have no user.
 */
export async function runSweep(
  settings: Settings,
  { isForced }: { readonly isForced: boolean },
  context: ProgramContext,
): Promise<number> {
  const log = createLog(settings.log);
  context.useLog(log);
  const dataDirectory = resolve(settings.dataDirectory);
  const store = createUserStore(settings.store, { log }, { dataDirectory, isReadOnly: true });
  const { store: media, parts } = createMediaStore(settings, { log, dataDirectory, url: () => "" });
  try {
    await store.start();
    for (const part of parts) await part.start?.();
    const findAvatarKeys = (ids: readonly string[]): Promise<ReadonlySet<string>> => store.findAvatarKeys(ids);
    const options = { isForced, signal: context.signal };
    const report = await sweepMedia({ media, findAvatarKeys, clock: Date.now }, options);
    if (report.isRefused) {
      context.stderr(
        `weir-account: Cannot sweep: ${report.orphans} of ${report.images} images have no user, as if the user store were another one; sweep --force removes them\n`,
      );
      return 1;
    }
    context.stdout(`Looked at ${report.images} images and removed ${report.removed} files that no account uses.\n`);
    if (report.failed === 0) return 0;
    const reason = maskCredentials(describeError(report.failure));
    context.stderr(`weir-account: Cannot remove ${report.failed} more files: ${reason}\n`);
    return 1;
  } finally {
    for (const part of parts) await part.stop?.();
    await store.stop();
  }
}
