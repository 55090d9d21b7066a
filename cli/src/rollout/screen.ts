// Draws a text on a terminal in the place of the one before. Pure.

/** To the upper left corner, and clears what is below. Going there first and clearing last draws without a flicker. */
const CURSOR_HOME = "\u001b[H";
const CLEAR_LINE_END = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** What a terminal is sent before the first text. */
export const CLEAR_SCREEN = "\u001b[2J";

/** Fewest rows on which anything can be shown. */
const ROWS_MIN = 3;

/** The size of a terminal, in characters. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * What draws the text anew. What has no room is left out, because a screen that scrolls cannot be drawn over: ends of lines, and lines before the last
 * one, which sums up.
 */
export function drawn(text: string, { columns, rows }: ScreenSize): string {
  const lines = text.trimEnd().split("\n");
  // The cursor stands below the last line.
  const room = Math.max(ROWS_MIN, rows) - 1;
  const hidden = lines.length - room + 1;
  const shown =
    lines.length <= room ? lines : [...lines.slice(0, room - 2), `… ${hidden} more lines, for which there is no room`, lines.at(-1) ?? ""];
  return `${CURSOR_HOME}${shown.map((line) => `${cut(line, columns)}${CLEAR_LINE_END}\n`).join("")}${CLEAR_BELOW}`;
}

function cut(line: string, columns: number): string {
  const characters = Array.from(line);
  return characters.length <= columns ? line : `${characters.slice(0, Math.max(0, columns - 1)).join("")}…`;
}
