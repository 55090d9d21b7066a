// The number of workers that WORKERS=auto stands for: the processors that the container may use.
import { availableParallelism } from "node:os";
import { readFileSync } from "node:fs";

import type { Settings } from "../settings.ts";

/** Most workers of WORKERS=auto: beyond, the counter store is the limit. */
const AUTO_MAX = 4;

/** The quota in version 2 of cgroups: microseconds of processor time, or "max", and the period. */
const QUOTA_FILE = "/sys/fs/cgroup/cpu.max";

/** The same in version 1, each in a file of its own. */
const OLD_QUOTA_FILE = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
const OLD_PERIOD_FILE = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

/** Returns the text of a file; undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/** The number of workers of these settings. */
export function workerCount(
  { server: { workers }, backend }: Pick<Settings, "server" | "backend">,
  readText: ReadText = readIfPresent,
  processors: number = availableParallelism(),
): number {
  if (workers !== "auto") return workers;
  // Counters in memory are not shared by processes.
  if (backend.kind === "memory") return 1;
  const quota = readQuota(readText) ?? processors;
  return Math.min(AUTO_MAX, Math.max(1, Math.floor(Math.min(quota, processors))));
}

/** The quota in processors; undefined when there is none. */
function readQuota(readText: ReadText): number | undefined {
  const [quota, period] = readText(QUOTA_FILE)?.trim().split(/\s+/) ?? [
    readText(OLD_QUOTA_FILE)?.trim(),
    readText(OLD_PERIOD_FILE)?.trim(),
  ];
  const processors = Number(quota) / Number(period);
  return processors > 0 && Number.isFinite(processors) ? processors : undefined; // "max" and -1 are no quota.
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // Not in a cgroup of this version.
  }
}
