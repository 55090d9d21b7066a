// Plots of a series of ten minutes: small ones for rows, large ones with axes. SVG, so that it scales.
import { type Element, h } from "./element.ts";

import { countText, timeText } from "../model/numbers.ts";

/** Size of a large plot, in its own units. */
const PLOT = { width: 600, height: 120 } as const;

/** The same of a small one. */
const SPARK = { width: 120, height: 20 } as const;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Points of a step line and the area below it, in SVG's path language. Pure. */
export function plotPath(series: readonly number[], most: number, { width, height }: Size): string {
  const step = width / series.length;
  const lines = series.map((count, index) => {
    const y = round(height - (most === 0 ? 0 : (count / most) * (height - 1)));
    return `L${round(index * step)} ${y}H${round((index + 1) * step)}`;
  });
  return `M0 ${height}${lines.join("")}V${height}Z`;
}

/** A plot in a row; `label` is what a screen reader says. */
export function sparkline(series: readonly number[], label: string): Element {
  const { width, height } = SPARK;
  return h(
    "svg",
    {
      class: "spark",
      role: "img",
      "aria-label": label,
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
    },
    h("path", { d: plotPath(series, Math.max(...series), SPARK) }),
  );
}

/** A plot with its largest value and its times. */
export function plot(title: string, series: readonly number[], endSeconds: number): Element {
  const { width, height } = PLOT;
  const most = Math.max(0, ...series);
  const total = series.reduce((sum, count) => sum + count, 0);
  const begin = endSeconds - series.length * 10;
  return h(
    "figure",
    { class: "plot" },
    h(
      "figcaption",
      null,
      h("b", null, title),
      ` ${countText(total)} in ten minutes, at most ${countText(most)} in ten seconds`,
    ),
    h(
      "svg",
      {
        role: "img",
        "aria-label": `${title}: ${countText(total)} in ten minutes`,
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: "none",
      },
      h("line", { x1: 0, x2: width, y1: height, y2: height }),
      h("line", { x1: 0, x2: width, y1: 1, y2: 1 }),
      h("path", { d: plotPath(series, most, PLOT) }),
    ),
    h(
      "div",
      { class: "times", "aria-hidden": "true" },
      h("span", null, timeText(begin)),
      h("span", null, timeText(endSeconds)),
    ),
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
