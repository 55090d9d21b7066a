// The messages between the service and its workers. Each is plain data of bounded size; a connection
// goes with the message that announces it.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import type { RuleKeyCounts } from "../observe/rule-keys.ts";
import type { RuleName } from "../observe/rule-name.ts";
import type { RuleStatisticsName } from "../statistics/rule-statistics.ts";

/** Most entries of one list in a report of statistics; more come in further reports. */
export const REPORT_ENTRIES_MAX = 1000;

/** A set of rules by what it has that the set before has not. */
export interface SetChange {
  /** The numbers of its configurations, in their order. */
  readonly order: readonly number[];
  /** Those that the set before has not. */
  readonly added: readonly (readonly [number: number, config: RateLimitConfigModel])[];
}

export type ToWorker =
  /** The first message: its number from 0, the number of workers, and the health of the service. */
  | { readonly kind: "start"; readonly index: number; readonly workers: number; readonly isHealthy: boolean }
  /** Makes a validated set of rules active. Answered with `loaded`. */
  | ({ readonly kind: "load"; readonly id: number } & SetChange)
  | { readonly kind: "health"; readonly isHealthy: boolean }
  /** Comes with a socket. */
  | { readonly kind: "connection" }
  /** Sends GOAWAY on so many connections. */
  | { readonly kind: "shed"; readonly connections: number }
  /**
   * Asks for the statistics since the last report, and for the keys of some rules. Answered with `refreshed` after the
   * statistics.
   */
  | { readonly kind: "refresh"; readonly id: number; readonly keysOf?: readonly RuleName[] | undefined }
  /** Reads certificates again. */
  | { readonly kind: "reload" }
  /** Takes no new calls. Answered with `drained` when the running ones are answered. */
  | { readonly kind: "drain" }
  /** Ends the process, after its last statistics. */
  | { readonly kind: "stop" };

export type FromWorker =
  /** It can decide; connections may come. */
  | { readonly kind: "ready" }
  | { readonly kind: "loaded"; readonly id: number }
  /** The state of its connection to the counter store. */
  | { readonly kind: "store"; readonly isConnected: boolean }
  /** Connections that have closed since its start, and open ones that have received GOAWAY. */
  | { readonly kind: "connections"; readonly closed: number; readonly shed: number }
  | { readonly kind: "statistics"; readonly report: StatisticsReport }
  | { readonly kind: "refreshed"; readonly id: number; readonly keys?: readonly RuleKeyCounts[] | undefined }
  | { readonly kind: "drained" };

/** The growth of the statistics of a worker since its last report, and its gauges. */
export interface StatisticsReport {
  /** Names with their growth. */
  readonly counters: readonly (readonly [name: string, growth: number])[];
  /** The same for names that contain request values. */
  readonly dynamicCounters: readonly (readonly [name: string, growth: number])[];
  /** Growth of the counters of rules, in the order of RULE_STATISTICS. */
  readonly rules: readonly RuleGrowth[];
  /** Names with their values. */
  readonly gauges: readonly (readonly [name: string, value: number])[];
  /** Durations in milliseconds, and how many there were of about each. */
  readonly timers: readonly (readonly [name: string, durationMs: number, times: number])[];
}

/** The growth of the counters of a rule. */
export interface RuleGrowth extends RuleStatisticsName {
  readonly growth: readonly number[];
}
