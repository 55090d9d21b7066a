// Writes the parts of docs/operations.md that are made from files: capacity from the results of the benchmark, alerts
// from the charts, metrics from the programs. Run with --conditions=source; --check compares only.
import { globSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { emitBlocks, inlineCode, markdownTable } from "./generated-page.ts";
import { type ProgramMetrics, readPrograms } from "./metrics-of-programs.ts";

const PAGE = "docs/operations.md";

/** Share of a core that a replica may use, so that bursts fit. */
const TARGET_SHARE = 0.6;

/** Loads for which replicas are counted, in requests per second. */
const LOADS = [10_000, 50_000, 200_000] as const;

/** Rows of the results that are figures to plan with: the group and the load. */
const PLANNED: readonly (readonly [group: string, load: string, title: string])[] = [
  ["redis", "8x64", "Redis, few busy proxies"],
  ["redis", "16x1", "Redis, proxies that send one request at a time"],
  ["tls", "8x64", "Redis, few busy proxies, TLS"],
  ["over-limit", "8x64", "Most requests above their limit, local cache"],
  ["memcached", "16x1", "memcached, proxies that send one request at a time"],
  ["everything-on", "16x1", "Redis, every setting that costs something"],
];

/** The part of the results that is read. */
export interface MeasuredRow {
  readonly group: string;
  readonly load: string;
  readonly contender: string;
  readonly samples: readonly { readonly perSecond: number; readonly residentBytes: number }[];
}

/** A rule of an alert file. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** The table of replicas. Throws when a row was not measured. */
export function formatCapacity(rows: readonly MeasuredRow[]): string {
  const lines = PLANNED.map(([group, load, title]) => {
    const row = rows.find((each) => each.group === group && each.load === load && each.contender === "weir");
    if (row === undefined) throw new Error(`Cannot plan with ${group}/${load}/weir: the results do not have it`);
    const perSecond = median(row.samples.map((sample) => sample.perSecond));
    const memory = Math.max(...row.samples.map(({ residentBytes }) => residentBytes));
    // The second number leaves enough when one replica is gone.
    const replicas = LOADS.map((wanted) =>
      Math.max(Math.ceil(wanted / (perSecond * TARGET_SHARE)), Math.ceil(wanted / perSecond) + 1),
    );
    return [title, thousands(perSecond), `${Math.ceil(memory / 1e6)} MB`, ...replicas.map(String)];
  });
  const columns = LOADS.map((load) => `Replicas for ${thousands(load)}/s`);
  return markdownTable(["Load", "Decisions/s of one core", "Memory", ...columns], lines);
}

/** A section for each alert. */
export function formatAlerts(rules: readonly AlertRule[]): string {
  return rules
    .map(({ alert, expr, for: pending, labels, annotations: { summary, description } }) =>
      [
        `#### ${alert}`,
        `**${labels.severity}**${pending === undefined ? "" : `, after ${pending}`}: ${withoutTemplates(summary)}`,
        withoutTemplates(description),
        `\`\`\`promql\n${expr}\n\`\`\``,
      ].join("\n\n"),
    )
    .join("\n\n");
}

/** A table for each program. */
export function formatMetrics(programs: readonly ProgramMetrics[]): string {
  return programs
    .flatMap(({ program, metrics }) => [
      `### ${inlineCode(program)}`,
      markdownTable(
        ["Metric", "Type", "Labels", "Meaning"],
        metrics.map(({ name, type, labels, help }) => [
          inlineCode(name),
          type,
          labels.map(inlineCode).join(", "),
          help.replace(/\.$/, "").replaceAll("<", "\\<"),
        ]),
      ),
    ])
    .join("\n\n");
}

/** The text with the names of labels in place of Prometheus' templates. */
function withoutTemplates(text: string): string {
  return text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, "_$1_")
    .replaceAll(/\{\{ \$value[^}]*\}\}/g, "_value_")
    .replaceAll("<error>", "`<error>`");
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("Cannot take the median of no samples");
  return middle;
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

if (import.meta.main) {
  const { rows } = JSON.parse(readFileSync("docs/benchmarks-results.json", "utf8")) as { rows: readonly MeasuredRow[] };
  const rules = globSync("charts/*/alerts/*.yaml")
    .toSorted()
    .toReversed() // The account service comes last.
    .flatMap((path) => (parse(readFileSync(path, "utf8")) as { groups: { rules: AlertRule[] }[] }).groups)
    .flatMap((group) => group.rules);
  const blocks = {
    capacity: formatCapacity(rows),
    alerts: formatAlerts(rules),
    metrics: formatMetrics(await readPrograms(process.cwd())),
  };
  await emitBlocks(PAGE, blocks);
}
