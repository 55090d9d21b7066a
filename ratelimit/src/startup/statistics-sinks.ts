// Creates the statistics sinks that the settings select, in any combination. Pull and push are loaded
// only when they are selected.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { PullSettings, StatisticsSettings } from "../settings/statistics-settings.ts";
import { countReservedTags } from "../statistics/extra-tags.ts";
import { NodeStatistics } from "../statistics/node-statistics.ts";
import type { LineChannel } from "../statistics/push/line-channel.ts";
import { createJsonFormat, createStatsdFormat, type LineFormat } from "../statistics/push/line-format.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { withAddressLog } from "./listen-address-log.ts";

/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;

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
  if (push.statsd === undefined && push.tagged === undefined && !isOutput) return parts;
  const { PushSink } = await import("../statistics/push/push-sink.ts");
  const { OutputChannel } = await import("../statistics/push/output-channel.ts");
  const { TcpChannel } = await import("../statistics/push/tcp-channel.ts");
  const { UdpChannel } = await import("../statistics/push/udp-channel.ts");
  const addPush = (name: string, format: LineFormat, channel: LineChannel): void => {
    const { flushIntervalMs } = push;
    parts.push(new PushSink({ store: deps.store, format, channel }, { name, flushIntervalMs }));
  };
  if (push.statsd !== undefined) {
    const Channel = push.statsd.protocol === "tcp" ? TcpChannel : UdpChannel;
    addPush("StatsD statistics", createStatsdFormat(settings), new Channel(deps, push.statsd));
  }
  if (push.tagged !== undefined) {
    const { createTaggedFormat } = await import("../statistics/push/tagged-format.ts");
    const format = createTaggedFormat(deps, { extraTags, ...push.tagged });
    addPush("tagged statistics", format, new UdpChannel(deps, push.tagged));
  }
  if (isOutput) {
    const channel = new OutputChannel(deps, { fileDescriptor: STANDARD_OUTPUT });
    addPush("statistics on standard output", createJsonFormat({ nowMs: Date.now }, settings), channel);
  }
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
