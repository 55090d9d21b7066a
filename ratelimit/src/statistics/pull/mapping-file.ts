// Reads a mapping from YAML in the format of statsd_exporter. It replaces the built-in mapping altogether. Reading the file itself is main's matter; every
// problem is told at once, and unknown fields are problems, for a misspelt one would be silently without effect.
import { ServiceError } from "@weir/common/errors/service-error";
import { parseDocument } from "yaml";
import { FieldReader } from "./field-reader.ts";
import type { Mapping, MappingEntry, StatisticKind, TimerOptions } from "./mapping.ts";

/** Upper bounds of histograms for which the file names none. */
const FALLBACK_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Fields that are understood and need nothing done: series live as long as their statistics, labels of tags are always kept, patterns keep their order. */
const WITHOUT_EFFECT = ["ttl", "honor_labels", "glob_disable_ordering", "quantiles", "summary_options"] as const;

const KINDS: Readonly<Record<string, StatisticKind>> = { counter: "counter", gauge: "gauge", timer: "timer", observer: "timer" };

/** How entries behave that do not say it themselves. */
interface Defaults {
  readonly matchType: "glob" | "regex";
  readonly timer: "histogram" | "summary";
  readonly buckets: readonly number[];
}

/** The mapping of a file. Durations come in milliseconds and are multiplied by `scale`. Fails with STATISTICS_MAPPING_INVALID. */
export function parseMapping(text: string, file: string): Mapping {
  const document = parseDocument(text, { prettyErrors: true });
  const problems: string[] = document.errors.map(({ message }) => message.split("\n")[0] ?? message);
  const mapping = problems.length === 0 ? readMapping(document.toJS({ maxAliasCount: 100 }) ?? {}, problems) : undefined;
  if (mapping === undefined || problems.length > 0) {
    throw new ServiceError("STATISTICS_MAPPING_INVALID", `Cannot use the mapping file ${file}: ${problems.join("; ")}`);
  }
  return mapping;
}

function readMapping(value: unknown, problems: string[]): Mapping | undefined {
  const root = FieldReader.open(value, "", problems);
  if (root === undefined) return undefined;
  const defaults = readDefaults(root.child("defaults"));
  const entries = root.children("mappings").map((fields) => readEntry(fields, defaults));
  root.done();
  // Globs go first whatever their place, then regular expressions: statsd_exporter's order.
  const globs = entries.filter((entry) => entry.isGlob);
  const others = entries.filter((entry) => !entry.isGlob);
  return { entries: [...globs, ...others].map(({ entry }) => entry), unmappedTimer: timerOptions(defaults.timer, defaults.buckets, 1) };
}

function readDefaults(fields: FieldReader | undefined): Defaults {
  const found: Defaults = {
    matchType: fields?.oneOf("match_type", ["glob", "regex"]) ?? "glob",
    timer: readTimerType(fields) ?? "summary",
    buckets: readBuckets(fields) ?? FALLBACK_BUCKETS,
  };
  fields?.ignore(WITHOUT_EFFECT);
  fields?.done();
  return found;
}

function readEntry(fields: FieldReader, defaults: Defaults): { readonly entry: MappingEntry; readonly isGlob: boolean } {
  const match = fields.text("match") ?? "";
  const isGlob = (fields.oneOf("match_type", ["glob", "regex"]) ?? defaults.matchType) === "glob";
  const kind = fields.oneOf("match_metric_type", Object.keys(KINDS));
  const pattern = compilePattern(match, isGlob, fields);
  const isDrop = fields.oneOf("action", ["map", "drop"]) === "drop";
  const name = fields.text("name");
  if (match === "") fields.problem("match", "must be a pattern");
  if (!isDrop && (name === undefined || name === "")) fields.problem("name", "must be the name of a metric");
  const scale = fields.number("scale") ?? 1;
  const timer = timerOptions(readTimerType(fields) ?? defaults.timer, readBuckets(fields) ?? defaults.buckets, scale);
  const labels = fields.texts("labels");
  const help = fields.text("help");
  fields.ignore(WITHOUT_EFFECT);
  fields.done();
  return {
    isGlob,
    entry: {
      pattern,
      kind: kind === undefined ? undefined : KINDS[kind],
      action: isDrop ? { kind: "drop" } : { kind: "map", name: name ?? "", labels, help, scale, timer },
    },
  };
}

/** A `*` of a glob stands for one part of a name; regular expressions match anywhere. */
function compilePattern(match: string, isGlob: boolean, fields: FieldReader): RegExp {
  if (isGlob) {
    const source = match.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${source.join("([^.]*)")}$`);
  }
  try {
    return new RegExp(match.replaceAll("(?P<", "(?<")); // Go writes named groups with a P.
  } catch (error) {
    fields.problem("match", `must be a regular expression: ${error instanceof Error ? error.message : String(error)}`);
    return /(?!)/;
  }
}

function readTimerType(fields: FieldReader | undefined): "histogram" | "summary" | undefined {
  const old = fields?.oneOf("timer_type", ["histogram", "summary"]);
  return fields?.oneOf("observer_type", ["histogram", "summary"]) ?? old;
}

function readBuckets(fields: FieldReader | undefined): readonly number[] | undefined {
  const old = fields?.numbers("buckets");
  const options = fields?.child("histogram_options");
  const buckets = options?.numbers("buckets") ?? old;
  options?.ignore(["native_histogram_bucket_factor", "native_histogram_max_buckets"]);
  options?.done();
  if (buckets?.some((bound, index) => index > 0 && bound <= (buckets[index - 1] ?? bound)) === true)
    fields?.problem("buckets", "must grow");
  return buckets;
}

function timerOptions(kind: "histogram" | "summary", buckets: readonly number[], scale: number): TimerOptions {
  return kind === "histogram" ? { kind, buckets, scale } : { kind, scale };
}
