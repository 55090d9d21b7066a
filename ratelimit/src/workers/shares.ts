// Divides what the settings allow the whole service by its processes: the workers, and the one that
// serves HTTP.
import type { Settings } from "../settings.ts";
import type { RedisServerSettings } from "../settings/redis-settings.ts";

/** Which process of the service has a share. */
export type Role = "worker" | "parent";

/** The settings of one of the processes. */
export function shareOf(settings: Settings, workers: number, role: Role): Settings {
  const { backend, decide, statistics } = settings;
  const poolSizeOf = ({ poolSize }: RedisServerSettings): number =>
    // The parent asks the store for /json only.
    role === "parent" ? 1 : Math.max(1, Math.floor(poolSize / workers));
  const server = (main: RedisServerSettings): RedisServerSettings => ({ ...main, poolSize: poolSizeOf(main) });
  return {
    ...settings,
    backend:
      backend.kind === "kvstore"
        ? { ...backend, main: server(backend.main), perSecond: backend.perSecond && server(backend.perSecond) }
        : backend,
    decide: { ...decide, localCacheSizeBytes: Math.floor(decide.localCacheSizeBytes / (workers + 1)) },
    // The parent has the names of all.
    statistics:
      role === "parent"
        ? statistics
        : { ...statistics, maxDynamicKeys: Math.floor(statistics.maxDynamicKeys / (workers + 1)) },
  };
}
