// Creates the statistics sinks that the settings select, in any combination. Each is loaded only
// when it is selected.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { StatsdSettings, TaggedSettings } from "../settings/push-settings.ts";
import type { PullSettings, StatisticsSettings } from "../settings/statistics-settings.ts";
import { countReservedTags } from "../statistics/extra-tags.ts";
import { NodeStatistics } from "../statistics/node-statistics.ts";
import type { LineChannel } from "../statistics/push/line-channel.ts";
import { createJsonFormat, createStatsdFormat, type LineFormat } from "../statistics/push/line-format.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { withAddressLog } from "./listen-address-log.ts";

/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;

/** Dependencies of the sinks. */
export interface StatisticsSinksDeps {
  readonly store: StatisticsStore;
  /** Logs where statistics are served for scraping. */
  readonly addressLog: Log;
  readonly log: Log;
}

/**
 * Creates the sinks and the statistics of the process, and counts the extra tags with reserved
 * names. Fails with STATISTICS_MAPPING_INVALID.
 */
export async function createStatisticsSinks(
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<readonly Part[]> {
  const { pull, push, isOutput, extraTags } = settings;
  countReservedTags(deps.store, extraTags);
  const parts: Part[] = [new NodeStatistics({ store: deps.store, nowMs: () => performance.now() })];
  if (pull !== undefined) parts.push(await createPull(pull, settings, deps));
  if (push.statsd !== undefined) parts.push(await createStatsd(push.statsd, settings, deps));
  if (push.tagged !== undefined) parts.push(await createTagged(push.tagged, settings, deps));
  if (isOutput) parts.push(await createOutput(settings, deps));
  return parts;
}

async function createPull(
  pull: PullSettings,
  { extraTags }: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<Part> {
  const { PullSink } = await import("../statistics/pull/pull-sink.ts");
  const { readMappingFile } = await import("../statistics/pull/mapping-file.ts");
  const { createDefaultMapping } = await import("../statistics/pull/default-mapping.ts");
  const mapping =
    pull.mappingPath === undefined
      ? createDefaultMapping({ isMilliseconds: pull.responseTimeAsMilliseconds })
      : readMappingFile(pull.mappingPath);
  return withAddressLog(new PullSink({ ...deps, mapping }, { ...pull, extraTags }), "statistics", deps.addressLog);
}

async function createStatsd(
  { protocol, host, port }: StatsdSettings,
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<Part> {
  const channel =
    protocol === "tcp"
      ? new (await import("../statistics/push/tcp-channel.ts")).TcpChannel(deps, { host, port })
      : new (await import("../statistics/push/udp-channel.ts")).UdpChannel(deps, { host, port });
  return createPush("StatsD statistics", { format: createStatsdFormat(settings), channel }, settings, deps);
}

async function createTagged(
  { host, port, mogrifiers, globalTags }: TaggedSettings,
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<Part> {
  const { createTaggedFormat } = await import("../statistics/push/tagged-format.ts");
  const { UdpChannel } = await import("../statistics/push/udp-channel.ts");
  const format = createTaggedFormat(deps, { extraTags: settings.extraTags, mogrifiers, globalTags });
  return createPush("tagged statistics", { format, channel: new UdpChannel(deps, { host, port }) }, settings, deps);
}

async function createOutput(settings: StatisticsSettings, deps: StatisticsSinksDeps): Promise<Part> {
  const { OutputChannel } = await import("../statistics/push/output-channel.ts");
  const channel = new OutputChannel(deps, { fileDescriptor: STANDARD_OUTPUT });
  const format = createJsonFormat({ nowMs: Date.now }, settings);
  return createPush("statistics on standard output", { format, channel }, settings, deps);
}

async function createPush(
  name: string,
  output: { readonly format: LineFormat; readonly channel: LineChannel },
  { push }: StatisticsSettings,
  { store }: StatisticsSinksDeps,
): Promise<Part> {
  const { PushSink } = await import("../statistics/push/push-sink.ts");
  return new PushSink({ store, ...output }, { name, flushIntervalMs: push.flushIntervalMs });
}
