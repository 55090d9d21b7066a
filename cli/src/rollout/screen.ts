// Draws a text on a terminal in the place of the one before. Pure.
import { clustersOf, displayWidth } from "../command-line/display-width.ts";

/**
 * To the upper left corner, and clears what is below. Going there first and clearing last draws
 * without a flicker.
 */
const CURSOR_HOME = "\u001b[H";
const CLEAR_LINE_END = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** What a terminal is sent before the first text. */
export const CLEAR_SCREEN = "\u001b[2J";

/** Fewest columns on which anything can be shown. */
const COLUMNS_MIN = 20;

/** The size of a terminal, in characters. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * The size of what is written to; undefined when it is no terminal, or one that tells no size, as
 * in a container without one.
 */
export function screenOf(stream: {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}): ScreenSize | undefined {
  const { isTTY = false, columns = 0, rows = 0 } = stream;
  return isTTY && columns > 0 && rows > 0 ? { columns, rows } : undefined;
}

/**
 * What draws the text anew. What has no room is left out, because a screen that scrolls cannot be
 * drawn over: ends of lines, and lines before the last one, which sums up and is shown in full.
 */
export function drawn(text: string, { columns, rows }: ScreenSize): string {
  const lines = text.trimEnd().split("\n");
  const width = Math.max(COLUMNS_MIN, columns);
  const end = folded(lines.at(-1) ?? "", width);
  const body = lines.slice(0, -1);
  // The cursor stands below the last line.
  const room = Math.max(1, rows - 1 - end.length);
  const hidden = body.length - room + 1;
  const shown =
    body.length <= room ? body : [...body.slice(0, room - 1), `… ${hidden} more lines, for which there is no room`];
  return `${CURSOR_HOME}${[...shown.map((line) => cut(line, width)), ...end].map((line) => `${line}${CLEAR_LINE_END}\n`).join("")}${CLEAR_BELOW}`;
}

function cut(line: string, width: number): string {
  return displayWidth(line) <= width ? line : `${folded(line, width - 1)[0]}…`;
}

/** The line in pieces that have room in so many columns. */
function folded(line: string, width: number): readonly string[] {
  const pieces = [""];
  let used = 0;
  for (const cluster of clustersOf(line)) {
    if (used + cluster.width > width) {
      pieces.push("");
      used = 0;
    }
    pieces.push((pieces.pop() ?? "") + cluster.text);
    used += cluster.width;
  }
  return pieces;
}
