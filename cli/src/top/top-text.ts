// The text of `weir top`. Pure.
import { counted, printable } from "../command-line/printable.ts";
import { tableText } from "../command-line/table.ts";
import type { ShownFleet, ShownKey, ShownRule, TopView } from "./top-view.ts";

/** Levels of a sparkline. */
const LEVELS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/** Steps of a series in one character of a sparkline: 30 seconds. */
const STEPS_PER_CHARACTER = 3;

/** Keys of each order of a rule. */
const KEYS_SHOWN = 10;

/** The tables, and a last line with what is shown or what is missing. */
export function topText(view: TopView): string {
  const parts = [fleetTable(view.fleets), ruleTable(view.rules), ...view.rules.flatMap(keyTables)];
  return `${[...parts.filter((part) => part !== ""), summary(view)].join("\n\n")}\n`;
}

function fleetTable(fleets: readonly ShownFleet[]): string {
  const heads = ["FLEET", "PODS", "DECISIONS/S", "REJECTIONS/S", "ERRORS/S", "P50", "P99"];
  const rows = fleets.map((fleet) => [
    fleet.name,
    fleet.pods === fleet.observedPods ? String(fleet.pods) : `${fleet.observedPods}/${fleet.pods}`,
    ...(fleet.observedPods === 0
      ? ["no data", "-", "-", "-", "-"]
      : [
          rateText(fleet.decisionsPerSecond),
          rateText(fleet.rejectionsPerSecond),
          rateText(fleet.errorsPerSecond),
          latencyText(fleet.p50Ms),
          latencyText(fleet.p99Ms),
        ]),
  ]);
  return tableText(heads, rows);
}

function ruleTable(rules: readonly ShownRule[]): string {
  const heads = [
    "RULE",
    "FLEET",
    "LIMIT",
    "OVER LIMIT",
    "/S",
    "HITS",
    "/S",
    "NEAR LIMIT",
    "SHADOW",
    "OVER LIMIT, 10 MIN",
    "RESOURCE",
  ];
  const rows = rules.map(({ path, fleet, limit, resource, overLimit, hits, nearLimit, shadowMode }) => [
    path,
    fleet,
    limit ?? "-",
    String(overLimit.total),
    rateText(overLimit.perSecond),
    String(hits.total),
    rateText(hits.perSecond),
    String(nearLimit.total),
    String(shadowMode.total),
    sparkline(overLimit.series),
    resource ?? "-",
  ]);
  const details = rules.map(({ earlierLimit }) =>
    earlierLimit === undefined ? [] : [`the limit in the revision before: ${earlierLimit}`],
  );
  return tableText(heads, rows, details);
}

function keyTables({ path, fleet, keys }: ShownRule): readonly string[] {
  if (keys === undefined) return [];
  const table = (what: string, list: readonly ShownKey[]): string => {
    const rows = list
      .slice(0, KEYS_SHOWN)
      .map((key) => [
        key.values.map(valueText).join(" "),
        String(key.count),
        key.error === 0 ? "exact" : `-${key.error}`,
        `${Math.round(key.share * 100)}%`,
      ]);
    const text = tableText(["KEY", what, "ERROR", "SHARE"], rows);
    return text === "" ? "" : `${printable(`${path} in ${fleet}, since ${keys.since}`)}\n${text}`;
  };
  return [table("OVER LIMIT", keys.byRejections), table("HITS", keys.byHits)];
}

function valueText({ key, text, hash, isCut }: ShownKey["values"][number]): string {
  const value = text ?? (hash === undefined ? "(not shown)" : `#${hash}`);
  return `${key}=${value}${isCut ? "…" : ""}`;
}

/** One line with the problems, or with the numbers when there are none. */
function summary({ replicas, fleets }: TopView): string {
  const errors = replicas.flatMap(({ error }) => error ?? []);
  if (errors.length > 0) return printable(`not complete: ${errors.join("; ")}`);
  const [pods, observed] = [fleets.map(({ pods: all }) => all), fleets.map((fleet) => fleet.observedPods)].map(
    (counts) => counts.reduce((sum, count) => sum + count, 0),
  );
  const silent = (pods ?? 0) - (observed ?? 0);
  const known = `last ten minutes of ${counted(observed ?? 0, "pod")} on ${counted(replicas.length, "replica")}`;
  return silent === 0 ? known : `${known}; no data of ${counted(silent, "other pod")}`;
}

function rateText(perSecond: number): string {
  return perSecond >= 10 || perSecond === 0 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

function latencyText(ms: number | undefined): string {
  return ms === undefined ? "-" : `≤ ${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`;
}

/** The last ten minutes; a blank where nothing was counted. */
function sparkline(series: readonly number[]): string {
  const sums = Array.from({ length: Math.ceil(series.length / STEPS_PER_CHARACTER) }, (_, index) =>
    series.slice(index * STEPS_PER_CHARACTER, (index + 1) * STEPS_PER_CHARACTER).reduce((sum, count) => sum + count, 0),
  );
  const most = Math.max(...sums);
  return sums
    .map((sum) => (sum === 0 ? " " : (LEVELS[Math.ceil((sum / most) * LEVELS.length) - 1] ?? "")))
    .join("")
    .trimEnd();
}
