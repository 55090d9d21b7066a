// The statistics sinks that the settings ask for, in any combination. Each is loaded only when it
// is wanted.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import { announced } from "./announce.ts";
import type { StatsdSettings, TaggedSettings } from "./settings/push-settings.ts";
import type { PullSettings, StatisticsSettings } from "./settings/statistics-settings.ts";
import { countReservedTags } from "./statistics/extra-tags.ts";
import { createNodeStatistics } from "./statistics/node-statistics.ts";
import type { LineChannel } from "./statistics/push/line-channel.ts";
import type { LineFormat } from "./statistics/push/line-format.ts";
import type { StatisticsStore } from "./statistics/statistics-store.ts";

/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;

/** What sinks need. */
export interface StatisticsSinksDeps {
  readonly store: StatisticsStore;
  /** Tells where statistics are served for scraping. */
  readonly startLog: Log;
  readonly log: Log;
}

/**
 * Makes them and what they tell of the process, and counts the extra tags whose names are reserved.
 */
export async function createStatisticsSinks(
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<readonly Part[]> {
  const { pull, push, isOutput, extraTags } = settings;
  countReservedTags(deps.store, extraTags);
  const parts: Part[] = [createNodeStatistics({ store: deps.store, nowMs: () => performance.now() })];
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
  const { createPullSink } = await import("./statistics/pull/pull-sink.ts");
  const { loadMapping } = await import("./statistics-mapping.ts");
  const sink = createPullSink({ ...deps, mapping: loadMapping(pull) }, { ...pull, extraTags });
  return announced(sink, "statistics", deps.startLog);
}

async function createStatsd(
  statsd: StatsdSettings,
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<Part> {
  const { createStatsdFormat } = await import("./statistics/push/statsd-format.ts");
  const channel = await createStatsdChannel(statsd, deps);
  return createPush("StatsD statistics", { format: createStatsdFormat(settings), channel }, settings, deps);
}

async function createStatsdChannel(
  { protocol, host, port }: StatsdSettings,
  deps: StatisticsSinksDeps,
): Promise<LineChannel> {
  switch (protocol) {
    case "tcp":
      return (await import("./statistics/push/tcp-channel.ts")).createTcpChannel(deps, { host, port });
    case "udp":
      return (await import("./statistics/push/udp-channel.ts")).createUdpChannel(deps, { host, port });
  }
}

async function createTagged(
  { host, port, mogrifiers, globalTags }: TaggedSettings,
  settings: StatisticsSettings,
  deps: StatisticsSinksDeps,
): Promise<Part> {
  const { createTaggedFormat } = await import("./statistics/push/tagged-format.ts");
  const { createUdpChannel } = await import("./statistics/push/udp-channel.ts");
  const format = createTaggedFormat(deps, { extraTags: settings.extraTags, mogrifiers, globalTags });
  return createPush("tagged statistics", { format, channel: createUdpChannel(deps, { host, port }) }, settings, deps);
}

async function createOutput(settings: StatisticsSettings, deps: StatisticsSinksDeps): Promise<Part> {
  const { createJsonFormat } = await import("./statistics/push/json-format.ts");
  const { createOutputChannel } = await import("./statistics/push/output-channel.ts");
  const channel = createOutputChannel(deps, { fileDescriptor: STANDARD_OUTPUT });
  return createPush(
    "statistics on standard output",
    { format: createJsonFormat({ nowMs: Date.now }, settings), channel },
    settings,
    deps,
  );
}

async function createPush(
  name: string,
  how: { readonly format: LineFormat; readonly channel: LineChannel },
  { push }: StatisticsSettings,
  { store }: StatisticsSinksDeps,
): Promise<Part> {
  const { createPushSink } = await import("./statistics/push/push-sink.ts");
  return createPushSink({ store, ...how }, { name, flushIntervalMs: push.flushIntervalMs });
}
