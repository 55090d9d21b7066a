// Runs `weir-account backup FILE`: copies the embedded database, also while the service uses it.
import { resolve } from "node:path";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { StartError } from "./errors.ts";
import type { Settings } from "./settings/settings.ts";
import { backUp } from "./store/embedded/backup.ts";

/** Writes the copy and reports it. Rejects with BACKUP_FAILED. */
export async function runBackup(settings: Settings, file: string, context: ProgramContext): Promise<void> {
  if (settings.store.kind !== "embedded") {
    const reason = "it copies the embedded store, and STORE is mongo; use the tools of the database";
    throw new StartError("BACKUP_FAILED", `Cannot back up: ${reason}`);
  }
  const { path, users } = await backUp(resolve(settings.dataDirectory), file);
  context.stdout(`Backed up ${users} accounts to ${path}\n`);
}
