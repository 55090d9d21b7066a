// Reads a console block: prompts, commands and the output below each. Compares that with what a shell printed.

/** A command of a console block. */
export interface ConsoleStep {
  readonly command: string;
  /** The lines below it; empty when the page shows none. */
  readonly output: string;
}

/**
 * Text that differs from run to run, and the word that both sides get in its place. The order matters: a time contains
 * what looks like a duration.
 */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>"],
  [/(?<![0-9a-f])(?=[0-9a-f]*\d)[0-9a-f]{12,64}(?![0-9a-f])/g, "<hash>"],
  [/(?<!\d)1[6-9]\d{8}(?!\d)/g, "<seconds>"],
  [/(?<![\w.])\d+(\.\d+)? ?(ms|s|m|h|d)(\d+[smh])*(?!\w)/g, "<duration>"],
  [/v?\d+\.\d+\.\d+(-[\w.]+)?/g, "<version>"],
  [/[ \t]+/g, " "],
];

/** The steps of a block: a line with `$ ` begins one, `> ` and a backslash at a line's end continue it. */
export function readConsoleSteps(text: string): readonly ConsoleStep[] {
  const steps: { command: string[]; output: string[] }[] = [];
  for (const line of text.split("\n")) {
    const step = steps.at(-1);
    const isContinued = step?.output.length === 0 && step.command.at(-1)!.endsWith("\\");
    if (line.startsWith("$ ")) steps.push({ command: [line.slice(2)], output: [] });
    else if (step === undefined) throw new Error(`A console block begins with "$ ", not with "${line}"`);
    else if (isContinued || (line.startsWith("> ") && step.output.length === 0))
      step.command.push(line.replace(/^> /, ""));
    else step.output.push(line);
  }
  return steps.map(({ command, output }) => ({ command: command.join("\n"), output: output.join("\n").trimEnd() }));
}

/**
 * Compares output with what a page shows: times, durations, versions and hashes may differ, and white space in a line.
 * A line `…` stands for any lines, `…` at the end of a line for its rest. Returns the first difference.
 */
export function differenceOfOutput(shown: string, printed: string): string | undefined {
  const [expected, actual] = [normalLines(shown), normalLines(printed)];
  let at = 0;
  for (let index = 0; index < expected.length; index++) {
    const line = expected[index]!;
    if (line === "…") {
      const next = expected[index + 1];
      if (next === undefined) return undefined;
      const found = actual.findIndex((each, position) => position >= at && matches(next, each));
      if (found === -1) return `no line after "…" is ${JSON.stringify(next)}`;
      at = found;
    } else if (actual[at] === undefined || !matches(line, actual[at]!)) {
      return `the page shows ${JSON.stringify(line)}, the command prints ${JSON.stringify(actual[at] ?? "nothing")}`;
    } else at++;
  }
  return at === actual.length ? undefined : `the page does not show ${JSON.stringify(actual[at])}`;
}

function matches(expected: string, actual: string): boolean {
  return expected.endsWith("…") ? actual.startsWith(expected.slice(0, -1).trimEnd()) : expected === actual;
}

function normalLines(text: string): readonly string[] {
  const normal = VARYING.reduce((normalised, [pattern, word]) => normalised.replace(pattern, word), text);
  return normal
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
