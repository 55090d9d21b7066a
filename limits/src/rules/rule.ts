// Compiled rules and their matches: what a decision reads, never edited.
import type { JsonObject } from "@bufbuild/protobuf";
import type { RuleLimit } from "../model/rule-limit.ts";
import type { CellRule } from "../cell/cell.ts";
import type { CalendarWindows } from "../window/calendar.ts";

/** One pair of a request descriptor. */
export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** A limit that a request carries in place of the configured one. */
export interface LimitOverride extends Pick<RuleLimit, "requestsPerUnit" | "unit"> {
  /** Units in a window; 0 and absent mean 1. */
  readonly unitMultiplier?: number | undefined;
}

/** A configured rule that has a `rate_limit`, or the limit that a request carries. */
export interface Rule {
  /**
   * Domain and composite keys joined by dots, as configured: `domain.key_value.key2`;
   * `domain.override` for a request's own limit. Contains no request values.
   */
  readonly path: string;
  /** Of several limits the first. */
  readonly limit: RuleLimit;
  /** Length of the window in seconds, that of the longest of several; 0 for unlimited rules. */
  readonly windowSeconds: number;
  /** Its windows if they have their own edges; undefined for windows from the epoch on, and in a cell. */
  readonly calendar?: CalendarWindows | undefined;
  /** Its cell if a plain count cannot express its limits; undefined for one fixed window that counts all hits. */
  readonly cell?: CellRule | undefined;
  readonly unlimited: boolean;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** Names of rules that this one switches off within a call. */
  readonly replaces: readonly string[];
}

/**
 * A rule found for a descriptor. Rules that do not depend on request values have one match for all
 * requests.
 */
export interface RuleMatch<Attachment> {
  readonly rule: Rule;
  /**
   * The key that hits are reported under: the rule's path, or with request values where
   * value_to_metric or detailed_metric ask for them.
   */
  readonly statisticsKey: string;
  /** The object that `Attach` made for that key; of several limits for the first. */
  readonly attachment: Attachment;
  /** The objects that it made for each of several limits; undefined for one. */
  readonly attachments?: readonly Attachment[] | undefined;
  /**
   * Per entry, the text that replaces its value in the counter key because of share_threshold, or
   * ""; undefined when all are "".
   */
  readonly sharedValues: readonly string[] | undefined;
  /** Metadata of the rule for the answer. */
  readonly metadata: JsonObject | undefined;
}

/** Makes the object that the caller of `compileRules` keeps with each match, such as its counters. */
export interface Attach<Attachment> {
  /** Called once for each limit of a rule, while it is compiled; with the name of the limit, in which the path ends, if there are several. */
  rule(path: string, limit?: string): Attachment;
  /**
   * Called for each match whose statistics key may contain request values. `path` is the path of
   * its rule; both end in the name of the limit if the rule has several.
   */
  dynamic(statisticsKey: string, path: string, limit?: string): Attachment;
}
