// Renders the text format of Prometheus, version 0.0.4, in pieces: prom-client renders all series
// in one go, which would hold up decisions. Pure.

/** Content type of the format. */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const PIECE_SERIES = 500;

/** One metric with its series. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** By the text of the labels, `a="b",c="d"`. */
  readonly series: ReadonlyMap<string, SeriesValue>;
}

/** A number, or durations; bucket counts are cumulative, in the order of their bounds. */
export type SeriesValue =
  | number
  | {
      readonly sum: number;
      readonly count: number;
      readonly buckets: readonly { readonly bound: number; readonly count: number }[];
    };

/** The text of labels between braces. */
export function labelsText(labels: readonly (readonly [name: string, value: string])[]): string {
  return labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(",");
}

/** A family in the text format; in pieces, because it may have a hundred thousand series. */
export function* renderFamily({ name, help, type, series }: Family): Generator<string> {
  let text = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
  let count = 0;
  for (const [labels, value] of series) {
    text += typeof value === "number" ? line(name, labels, value) : renderDurations(name, type, labels, value);
    if (++count % PIECE_SERIES !== 0) continue;
    yield text;
    text = "";
  }
  yield text;
}

function renderDurations(
  name: string,
  type: Family["type"],
  labels: string,
  value: Exclude<SeriesValue, number>,
): string {
  let text = "";
  if (type === "histogram") {
    const separator = labels === "" ? "" : ",";
    for (const { bound, count } of value.buckets)
      text += line(`${name}_bucket`, `${labels}${separator}le="${boundText(bound)}"`, count);
    text += line(`${name}_bucket`, `${labels}${separator}le="+Inf"`, value.count);
  }
  return text + line(`${name}_sum`, labels, value.sum) + line(`${name}_count`, labels, value.count);
}

/** A bound as Go writes it, so that series have the labels of other exporters: 5e-05 below 0.0001. */
function boundText(bound: number): string {
  return bound > 0 && bound < 1e-4 ? bound.toExponential().replace(/e-(\d)$/, "e-0$1") : String(bound);
}

function line(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
