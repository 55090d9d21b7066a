// The parts that the views are made of: sections, tables, badges.
import { type Content, type Element, h } from "./element.ts";

import type { Tone } from "../model/rollouts.ts";
import { visible } from "../model/visible.ts";

/** A column of a table. */
export interface Column<Row> {
  readonly head: string;
  /** How a column is set: numbers to the right, times in one line. */
  readonly kind?: "number" | "time";
  readonly cell: (row: Row) => Content;
}

/** A part of a page with a heading. `alarm` marks what needs action. */
export function section(title: string, children: Content, kind: "plain" | "alarm" = "plain"): Element {
  const id = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return h("section", { class: kind, "aria-labelledby": id }, h("h2", { id }, title), children);
}

/** A table. On a narrow screen each row becomes a list, with the heads before the values. */
export function table<Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Element {
  const heads = columns.map(({ head, kind }) =>
    h("th", { key: head, scope: "col", role: "columnheader", class: kind }, head),
  );
  // The roles survive the style of narrow screens, which is no table.
  return h(
    "table",
    { "aria-label": label, role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) =>
        h(
          "tr",
          { key: keyOf(row), role: "row" },
          columns.map(({ head, kind, cell }, index) =>
            h(
              index === 0 ? "th" : "td",
              {
                key: head,
                class: kind,
                "data-head": head,
                ...(index === 0 ? { scope: "row", role: "rowheader" } : { role: "cell" }),
              },
              h("div", null, cell(row)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A name and its value, for a list of facts. */
export function fact(name: string, value: Content): readonly Element[] {
  return [h("dt", { key: `${name} name` }, name), h("dd", { key: name }, value)];
}

/** A word in a colour. */
export function badge(text: string, tone: Tone): Element {
  return h("span", { class: `badge ${tone}` }, text);
}

/** A text from outside, in its own direction of writing. */
export function outside(text: string): Element {
  return h("bdi", null, visible(text));
}

/** Words of a pod or of the control plane. */
export function words(text: string): Element {
  return h("pre", null, visible(text, "\n"));
}

/** A short form of a version. */
export function version(text: string): Element | string {
  return text === "" ? "none" : h("code", { title: text }, text.slice(0, 12));
}

/** The items of a list that are shown, and how many more there are. */
export function firstOf<Item>(
  items: readonly Item[],
  max: number,
  more: string,
): readonly [readonly Item[], Element | null] {
  if (items.length <= max) return [items, null];
  return [items.slice(0, max), h("p", { class: "quiet" }, `${items.length - max} more: ${more}`)];
}
