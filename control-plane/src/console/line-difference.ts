// The difference between two texts, line by line. Pure.

/** Lines that are the same and that are shown around those that differ. */
const CONTEXT_LINES = 3;

/** Most lines of the difference. */
const LINES_MAX = 400;

/** Longest line, in UTF-16 code units; the rest is left out. */
const LINE_LENGTH_MAX = 1000;

/** Most comparisons of lines: beyond, all lines between the first and the last difference differ. */
const COMPARISONS_MAX = 1_000_000;

/**
 * The difference as lines: with `- ` those that only the first text has, with `+ ` those that only the second one has,
 * with two spaces some that both have, and `...` for the others. Empty when nothing differs.
 */
export function lineDifference(before: string, after: string): string {
  if (before === after) return "";
  const [old, present] = [before.split("\n"), after.split("\n")];
  const first = old.findIndex((line, index) => line !== present[index]);
  const start = first === -1 ? old.length : first;
  let end = 0;
  const shorter = Math.min(old.length, present.length) - start;
  while (end < shorter && old.at(-1 - end) === present.at(-1 - end)) end += 1;
  const changed = edits(old.slice(start, old.length - end), present.slice(start, present.length - end));
  const same = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);
  const lines = withoutMiddles([...same(old.slice(0, start)), ...changed, ...same(old.slice(old.length - end))]);
  return [
    ...lines.slice(0, LINES_MAX).map((line) => line.slice(0, LINE_LENGTH_MAX)),
    ...(lines.length > LINES_MAX ? ["..."] : []),
  ].join("\n");
}

/** The lines of both, by a longest common subsequence. */
function edits(old: readonly string[], present: readonly string[]): readonly string[] {
  const width = present.length + 1;
  const isBounded = old.length * present.length <= COMPARISONS_MAX;
  // Lengths of the common subsequences of what follows two lines.
  const lengths = new Uint32Array(isBounded ? (old.length + 1) * width : 0);
  const lengthAt = (one: number, other: number): number => lengths[one * width + other] ?? 0;
  if (isBounded)
    for (let one = old.length - 1; one >= 0; one--)
      for (let other = present.length - 1; other >= 0; other--)
        lengths[one * width + other] =
          old[one] === present[other]
            ? lengthAt(one + 1, other + 1) + 1
            : Math.max(lengthAt(one + 1, other), lengthAt(one, other + 1));
  const lines: string[] = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < present.length) {
    const isSame = isBounded && one < old.length && old[one] === present[other];
    const isRemoved =
      one < old.length && (other === present.length || lengthAt(one + 1, other) >= lengthAt(one, other + 1));
    lines.push(isSame ? `  ${old[one]}` : isRemoved ? `- ${old[one]}` : `+ ${present[other]}`);
    if (isSame || isRemoved) one += 1;
    if (isSame || !isRemoved) other += 1;
  }
  return lines;
}

/** Only the lines that are the same and near a difference. */
function withoutMiddles(lines: readonly string[]): readonly string[] {
  const near = new Set<number>();
  for (const [index, line] of lines.entries())
    if (!line.startsWith("  ")) for (let at = index - CONTEXT_LINES; at <= index + CONTEXT_LINES; at++) near.add(at);
  return lines.flatMap((line, index) => (near.has(index) ? [line] : near.has(index - 1) || index === 0 ? ["..."] : []));
}
