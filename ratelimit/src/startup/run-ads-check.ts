// The command check-ads: checks the stream from the configuration server with the settings of this pod.
import type { ProgramContext } from "@weir/common/lifecycle/program";

import { checkAds } from "../config/xds/ads-check.ts";
import { Health } from "../health/health.ts";
import type { Settings } from "../settings.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ActiveRules } from "./active-rules.ts";

const EXIT_FAILURE = 1;

/** Prints the version and the names of the resources, or why there are none; resolves with the exit code. */
export async function runAdsCheck(
  settings: Settings,
  timeoutMs: number,
  { signal, stdout, stderr }: Pick<ProgramContext, "signal" | "stdout" | "stderr">,
): Promise<number> {
  const { source } = settings.config;
  if (source.kind !== "xds") {
    stderr(
      "weir-ratelimit: Cannot check ADS: CONFIG_TYPE is FILE; GRPC_XDS_SOTW and GRPC_XDS_DELTA name a configuration server\n",
    );
    return EXIT_FAILURE;
  }
  const { serverUrl } = source.client;
  const store = new StatisticsStore(settings.statistics);
  const health = new Health(settings.server.health);
  const listener = new ActiveRules({ store, statistics: new ServiceStatistics(store), health }, settings.config);
  let shown = "";
  const failed = (reason: string): void => {
    if (reason !== shown) stderr(`Cannot load the configuration of ${serverUrl} yet: ${reason}\n`);
    shown = reason;
  };
  const end = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const result = await checkAds({ listener, failed }, source.client, end);
  if (result.kind === "failed") {
    stderr(
      `weir-ratelimit: Cannot load the configuration of ${serverUrl} within ${timeoutMs / 1000} s: ${result.reason}\n`,
    );
    return EXIT_FAILURE;
  }
  const { version, names } = result;
  stdout([`${serverUrl} sent version ${version}, resources: ${names.length}`, ...names, ""].join("\n"));
  return 0;
}
