// Reads a mapping from YAML in the format of statsd_exporter. All problems are reported in one
// error. An unknown field is a problem, because a misspelt one would have no effect.
import { readFileSync } from "node:fs";

import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { parseDocument } from "yaml";

import type { RatelimitErrorCode } from "../../errors.ts";
import { compileGoPattern, type Pattern } from "../go-pattern.ts";
import { FieldReader } from "./field-reader.ts";
import type { Mapping, MappingEntry, StatisticKind, TimerOptions } from "./mapping.ts";

/** Default upper bounds of histograms. */
const FALLBACK_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Fields without effect: series exist as long as their statistics, and summaries have sum and count
 * only.
 */
const WITHOUT_EFFECT = ["ttl", "quantiles", "summary_options"] as const;

/**
 * A glob of statsd_exporter: parts that are a star or a word; the first does not begin with a
 * digit.
 */
const GLOB = /^(?:\*|[A-Za-z_][\w-]*)(?:\.(?:\*|\w[\w-]*))*$/;

/** A name of a metric, which may contain groups, and a name of a label, as in statsd_exporter. */
const METRIC_NAME = /^(?:[A-Za-z_]|\$\{?\d+\}?)(?:\w|\$\{?\d+\}?)*$/;
const LABEL_NAME = /^[A-Za-z_]\w+$/;

/** Takes the place of an invalid pattern. */
const NEVER = /(?!)/;

const KINDS: Readonly<Record<string, StatisticKind>> = {
  counter: "counter",
  gauge: "gauge",
  timer: "timer",
  observer: "timer",
};

/** Defaults of entries. */
interface Defaults {
  readonly isGlobOrdered: boolean;
  readonly matchType: "glob" | "regex";
  readonly timer: "histogram" | "summary";
  readonly buckets: readonly number[];
}

/** Reads the mapping of a file. Fails with STATISTICS_MAPPING_INVALID, naming the file. */
export function readMappingFile(path: string): Mapping {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw mappingError(path, describeError(cause), { cause });
  }
  return parseMapping(text, path);
}

/**
 * The mapping of a text; `file` names it in errors. Durations come in milliseconds and are
 * multiplied by `scale`. Fails with STATISTICS_MAPPING_INVALID. `compile` compiles its regular
 * expressions.
 */
export function parseMapping(text: string, file: string, compile = compileGoPattern): Mapping {
  const document = parseDocument(text, { prettyErrors: true });
  const problems: string[] = document.errors.map(({ message }) => message.split("\n")[0] ?? message);
  const mapping =
    problems.length === 0 ? readMapping(document.toJS({ maxAliasCount: 100 }) ?? {}, problems, compile) : undefined;
  if (mapping === undefined || problems.length > 0) {
    throw mappingError(file, problems.join("; "));
  }
  return mapping;
}

function mappingError(file: string, reason: string, options?: { readonly cause: unknown }): ServiceError {
  const message = `Cannot use the mapping file ${file}: ${reason}`;
  return new ServiceError<RatelimitErrorCode>("STATISTICS_MAPPING_INVALID", message, options);
}

function readMapping(value: unknown, problems: string[], compile: typeof compileGoPattern): Mapping | undefined {
  const root = FieldReader.open(value, "", problems);
  if (root === undefined) return undefined;
  const defaults = readDefaults(root.child("defaults"));
  const entries = root.children("mappings").map((fields) => readEntry(fields, defaults, compile));
  root.done();
  // Globs come before regular expressions, as in statsd_exporter.
  const globs = entries.filter((entry) => entry.isGlob);
  if (!defaults.isGlobOrdered) globs.sort((a, b) => compareGlobs(a.match, b.match));
  const others = entries.filter((entry) => !entry.isGlob);
  return {
    entries: [...globs, ...others].map(({ entry }) => entry),
    unmappedTimer: timerOptions(defaults.timer, defaults.buckets, 1),
  };
}

/** Sorts the more specific glob first: a word comes before a star at the same place. */
function compareGlobs(a: string, b: string): number {
  const others = b.split(".");
  for (const [index, part] of a.split(".").entries()) {
    const other = others[index];
    if ((part === "*") !== (other === "*")) return part === "*" ? 1 : -1;
  }
  return 0;
}

function readDefaults(fields: FieldReader | undefined): Defaults {
  const found: Defaults = {
    isGlobOrdered: fields?.boolean("glob_disable_ordering") !== true,
    matchType: fields?.oneOf("match_type", ["glob", "regex"]) ?? "glob",
    timer: readTimerType(fields) ?? "summary",
    buckets: readBuckets(fields) ?? FALLBACK_BUCKETS,
  };
  fields?.ignore(WITHOUT_EFFECT);
  fields?.done();
  return found;
}

interface ReadEntry {
  readonly entry: MappingEntry;
  readonly match: string;
  readonly isGlob: boolean;
}

function readEntry(fields: FieldReader, defaults: Defaults, compile: typeof compileGoPattern): ReadEntry {
  const match = fields.text("match") ?? "";
  const isGlob = (fields.oneOf("match_type", ["glob", "regex"]) ?? defaults.matchType) === "glob";
  const kind = fields.oneOf("match_metric_type", Object.keys(KINDS));
  const pattern = isGlob ? compileGlob(match, fields) : compileRegex(match, fields, compile);
  const isDrop = fields.oneOf("action", ["map", "drop"]) === "drop";
  const name = fields.text("name");
  if (!isDrop && (name === undefined || !METRIC_NAME.test(name)))
    fields.problem("name", "must be the name of a metric");
  const scale = fields.number("scale") ?? 1;
  const timerType = readTimerType(fields) ?? defaults.timer;
  if (fields.has("histogram_options") && fields.has("summary_options")) {
    fields.problem("summary_options", "cannot be combined with histogram_options");
  }
  const timer = timerOptions(timerType, readBuckets(fields) ?? defaults.buckets, scale);
  const labels = fields.texts("labels");
  for (const [label] of labels) {
    if (!LABEL_NAME.test(label))
      fields.problem("labels", `must have names of two or more letters, digits and underscores, one is "${label}"`);
  }
  const help = fields.text("help");
  const honorsTags = fields.boolean("honor_labels") === true;
  fields.ignore(WITHOUT_EFFECT);
  fields.done();
  const action: MappingEntry["action"] = isDrop
    ? { kind: "drop" }
    : { kind: "map", name: name ?? "", labels, help, honorsTags, scale, timer };
  return { isGlob, match, entry: { pattern, kind: kind === undefined ? undefined : KINDS[kind], action } };
}

/** A `*` of a glob matches one part of a name. */
function compileGlob(match: string, fields: FieldReader): Pattern {
  if (GLOB.test(match)) return new RegExp(`^${match.replaceAll(".", "\\.").replaceAll("*", "([^.]*)")}$`);
  fields.problem("match", "must be a pattern");
  return NEVER;
}

/** Regular expressions match anywhere. */
function compileRegex(match: string, fields: FieldReader, compile: typeof compileGoPattern): Pattern {
  const compiled = compile(match);
  if (match === "") fields.problem("match", "must be a pattern");
  else if (compiled.ok) return compiled.pattern;
  else fields.problem("match", `must be a regular expression: ${compiled.reason}`);
  return NEVER;
}

function readTimerType(fields: FieldReader | undefined): "histogram" | "summary" | undefined {
  const old = fields?.oneOf("timer_type", ["histogram", "summary"]);
  return fields?.oneOf("observer_type", ["histogram", "summary"]) ?? old;
}

function readBuckets(fields: FieldReader | undefined): readonly number[] | undefined {
  const old = fields?.numbers("buckets");
  const options = fields?.child("histogram_options");
  const numbers = options?.numbers("buckets") ?? old;
  const buckets = numbers?.length === 0 ? undefined : numbers; // As if not written.
  options?.ignore(["native_histogram_bucket_factor", "native_histogram_max_buckets"]);
  options?.done();
  if (buckets?.some((bound, index) => index > 0 && bound <= (buckets[index - 1] ?? bound)) === true)
    fields?.problem("buckets", "must grow");
  return buckets;
}

function timerOptions(kind: "histogram" | "summary", buckets: readonly number[], scale: number): TimerOptions {
  return kind === "histogram" ? { kind, buckets, scale } : { kind, scale };
}
