// Equipment of the tests that compare the statistics with other programs: where they are,
// and what the text format of Prometheus says.
import { findTool } from "@weir/harness/processes/tools";

/** The statsd_exporter that `node tools/test/test-setup.ts` builds. */
export const STATSD_EXPORTER = findTool("statsd_exporter-0.31.0", "statsd_exporter");

/** One line of the text format. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The series of a text by `name{label="value",…}` with the labels in order, and the types of its
 * families.
 */
export function readExposition(text: string): {
  readonly series: ReadonlyMap<string, Series>;
  readonly types: ReadonlyMap<string, string>;
} {
  const series = new Map<string, Series>();
  const types = new Map<string, string>();
  for (const line of text.split("\n")) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) types.set(type[1] ?? "", type[2] ?? "");
    const match = /^([A-Za-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (line.startsWith("#") || match === null) continue;
    const labels: Record<string, string> = {};
    for (const [, name = "", value = ""] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = value;
    const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = `${match[1] ?? ""}{${sorted.map(([name, value]) => `${name}="${value}"`).join(",")}}`;
    series.set(key, { name: match[1] ?? "", labels, value: Number(match[3]) });
  }
  return { series, types };
}
