// Redraws a text on a terminal. Pure.
import { clustersOf, displayWidth } from "../command-line/display-width.ts";

/** Moves the cursor home, and clears what is left: in this order the terminal does not flicker. */
const CURSOR_HOME = "\u001b[H";
const CLEAR_LINE_END = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** Clears the terminal, before the first text. */
export const CLEAR_SCREEN = "\u001b[2J";

/** Fewest columns of a text. */
const COLUMNS_MIN = 20;

/** The size of a terminal, in characters. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** The size of the terminal; undefined if the stream is none, or has no size, as in a container. */
export function screenOf(stream: {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}): ScreenSize | undefined {
  const { isTTY = false, columns = 0, rows = 0 } = stream;
  return isTTY && columns > 0 && rows > 0 ? { columns, rows } : undefined;
}

/**
 * The text to redraw. A screen that scrolls cannot be redrawn: lines are cut to the width, and
 * lines before the last one, which is the summary and shown in full, are left out.
 */
export function drawn(text: string, { columns, rows }: ScreenSize): string {
  const lines = text.trimEnd().split("\n");
  const width = Math.max(COLUMNS_MIN, columns);
  const end = folded(lines.at(-1) ?? "", width);
  const body = lines.slice(0, -1);
  // The cursor is below the last line.
  const room = Math.max(1, rows - 1 - end.length);
  const hidden = body.length - room + 1;
  const shown = body.length <= room ? body : [...body.slice(0, room - 1), `… ${hidden} more lines do not fit`];
  return `${CURSOR_HOME}${[...shown.map((line) => cut(line, width)), ...end].map((line) => `${line}${CLEAR_LINE_END}\n`).join("")}${CLEAR_BELOW}`;
}

function cut(line: string, width: number): string {
  return displayWidth(line) <= width ? line : `${folded(line, width - 1)[0]}…`;
}

/** The line in parts of so many columns. */
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
