// Finds the setting that a variable of the environment was meant to be. Pure.

/**
 * Shortest names in which one typing error, and two of them, are recognized; shorter names are
 * alike by chance.
 */
const TYPO_LENGTH_MIN = 8;
const SECOND_TYPO_LENGTH_MIN = 14;

/**
 * The known setting from which `name` differs by underscores only, or by one typing error, in a long
 * name two; undefined when there is none. `known` does not have `name`.
 */
export function findMeantSetting(name: string, known: readonly string[]): string | undefined {
  return known.find((setting) => isTypo(name, setting));
}

function isTypo(name: string, setting: string): boolean {
  if (setting.length < TYPO_LENGTH_MIN || setting.includes("<")) return false;
  if (name.replaceAll("_", "") === setting.replaceAll("_", "")) return true;
  return typingErrors(name, setting) <= (setting.length >= SECOND_TYPO_LENGTH_MIN ? 2 : 1);
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one text into another
 * (optimal string alignment).
 */
function typingErrors(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= to.length; column += 1) {
      const isEqual = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const replaced = at(row - 1, column - 1) + (isEqual ? 0 : 1);
      const swapped = isSwap ? at(row - 2, column - 2) + 1 : Infinity;
      current.push(Math.min(replaced, swapped, at(row - 1, column) + 1, at(row, column - 1) + 1));
    }
  }
  return at(from.length, to.length);
}
