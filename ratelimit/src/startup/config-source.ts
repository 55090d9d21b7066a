// Creates the configuration source that CONFIG_TYPE selects, and the load metrics of rule files.
import type { Log } from "@weir/common/log/log";

import type { ConfigListener, ConfigSource } from "../config/config-source.ts";
import type { OpenObservation } from "../config/xds/ads-stream.ts";
import type { ServerState } from "../config/xds/xds-source.ts";
import type { ConfigSettings } from "../settings/config-settings.ts";
import type { ObservedPod } from "../observe/observed-pod.ts";
import { ConfigServerStatistics, LoadStatistics } from "../statistics/service-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";

/** Creates the source; its implementation is loaded only when it is selected. */
export async function createConfigSource(
  { source }: ConfigSettings,
  deps: {
    readonly listener: ConfigListener;
    readonly store: StatisticsStore;
    /** The pod that the configuration server may watch; undefined = it may not. */
    readonly observed: ObservedPod | undefined;
    readonly log: Log;
  },
): Promise<ConfigSource> {
  switch (source.kind) {
    case "files": {
      const { FileSource } = await import("../config/files/file-source.ts");
      const listener = withLoadMetrics(deps.listener, new LoadStatistics(deps.store, "runtime"));
      return new FileSource({ ...deps, listener }, source.directory);
    }
    case "xds": {
      const { XdsSource } = await import("../config/xds/xds-source.ts");
      const { ObserveStream } = await import("../observe/observe-stream.ts");
      const statistics = new ConfigServerStatistics(deps.store);
      const onState = (state: ServerState): void => {
        statistics.connected.set(Number(state.isConnected));
        statistics.certificateExpired.set(Number(state.isCertificateExpired));
      };
      const { observed, log } = deps;
      const openObservation: OpenObservation | undefined =
        observed &&
        ((client, headers) =>
          new ObserveStream({ client, headers, observed, random: Math.random, log }, source.client));
      return new XdsSource({ ...deps, random: Math.random, onState, openObservation }, source.client);
    }
  }
}

/**
 * The listener with every load counted. A load is a failure when nothing can be applied, for
 * example because a file cannot be read.
 */
export function withLoadMetrics(listener: ConfigListener, statistics: LoadStatistics): ConfigListener {
  return {
    apply(configs) {
      statistics.attempts.add(1);
      statistics.values.set(configs.length);
      return listener.apply(configs);
    },
    reject(error) {
      statistics.attempts.add(1);
      statistics.failures.add(1);
      listener.reject(error);
    },
  };
}
