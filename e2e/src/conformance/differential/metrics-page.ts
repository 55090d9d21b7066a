// Reads the text format of Prometheus into one map, so that two pages can be compared.

/** Every series by `name{label="value",…}` with the labels in order. */
export function readSeries(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, labels, value] = /^([A-Za-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const pairs = [...(labels ?? "").matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].map(([pair]) => pair).toSorted();
    series.set(pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`, Number(value));
  }
  return series;
}
