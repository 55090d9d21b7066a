// Elements of pages.
import { type Markup, markup, type Piece } from "./markup.ts";

/** A status as a colour. */
export type Tone = "good" | "warning" | "bad";

/** A highlighted word or number. */
export function badge(text: string, tone: Tone): Markup {
  return markup`<span class="badge ${tone}">${text}</span>`;
}

/** A table, numbers at the right. Cells have their heading: narrow screens show rows as cards. */
export function table(headings: readonly string[], rows: readonly (readonly Piece[])[]): Markup {
  const isNumber = (column: number): boolean => rows.length > 0 && rows.every((row) => typeof row[column] === "number");
  const head = headings.map((heading, column) =>
    isNumber(column) ? markup`<th class="number">${heading}</th>` : markup`<th>${heading}</th>`,
  );
  const body = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const heading = headings[column] ?? "";
      return isNumber(column)
        ? markup`<td class="number" data-heading="${heading}">${cell}</td>`
        : markup`<td data-heading="${heading}"><div>${cell}</div></td>`;
    });
    return markup`<tr>${cells}</tr>\n`;
  });
  return markup`<table><thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody></table>`;
}
