// Elements of pages.
import { type Markup, markup, NOTHING, type Piece } from "./markup.ts";

/** Most rows of one table; further ones are counted. */
const ROWS_MAX = 1000;

/** A status as a colour. */
export type Tone = "good" | "warning" | "bad";

/** A highlighted word or number. */
export function badge(text: string, tone: Tone): Markup {
  return markup`<span class="badge ${tone}">${text}</span>`;
}

/** A section of the page. */
export function section(title: string, content: Markup, style: "plain" | "alarm" = "plain"): Markup {
  return markup`<section class="${style}"><h2>${title}</h2>${content}</section>`;
}

/** The columns of a table: each makes the cells under its heading. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Piece>>;

/** A table, numbers at the right. Cells have their heading: narrow screens show rows as cards. */
export function table<Row>(columns: Columns<Row>, rows: readonly Row[]): Markup {
  const shown = rows.slice(0, ROWS_MAX);
  const [headings, lines]: [Markup[], Markup[][]] = [[], shown.map(() => [])];
  for (const [heading, cellOf] of Object.entries(columns)) {
    const cells = shown.map(cellOf);
    const isNumber = cells.length > 0 && cells.every((cell) => typeof cell === "number");
    headings.push(isNumber ? markup`<th class="number">${heading}</th>` : markup`<th>${heading}</th>`);
    cells.forEach((cell, row) =>
      lines[row]?.push(
        isNumber
          ? markup`<td class="number" data-heading="${heading}">${cell}</td>`
          : markup`<td data-heading="${heading}"><div>${cell}</div></td>`,
      ),
    );
  }
  const body = lines.map((cells) => markup`<tr>${cells}</tr>\n`);
  const rest =
    rows.length <= ROWS_MAX ? NOTHING : markup`<p>And ${rows.length - ROWS_MAX} more; use the filter above.</p>`;
  return markup`<table><thead><tr>${headings}</tr></thead>\n<tbody>\n${body}</tbody></table>${rest}`;
}
