// The command `weir rollout`: asks the replicas, once or until it is interrupted, and prints how far the configuration has come.
import type { ProgramContext } from "@weir/common/lifecycle/program";

import { parseRolloutArguments } from "./arguments.ts";
import type { RolloutArguments } from "./arguments.ts";
import { changedLines } from "./changes.ts";
import { mergeRollouts } from "./merge.ts";
import type { MergedRollout } from "./merge.ts";
import { formatRolloutJson, formatTable } from "./report.ts";
import { askOnce, findTargets } from "./rollout-client.ts";
import { watchRollout } from "./watch-rollout.ts";

const EXIT_DONE = 0;
const EXIT_NOT_DONE = 1;
const EXIT_FAILURE = 2;

/** To the upper left corner, and clears what is below. Going there first and clearing last draws without a flicker. */
const CURSOR_HOME = "\u001b[H";
const CLEAR_LINE_END = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";
const CLEAR_SCREEN = "\u001b[2J";

/** What the command knows of the process besides its context. */
export interface RolloutEnvironment {
  readonly isTerminal: () => boolean;
  readonly nowMs: () => number;
  readonly random: () => number;
}

/** Runs the command with the arguments behind its name; gives the exit code. */
export async function runRollout(
  context: Pick<ProgramContext, "stdout" | "stderr" | "signal">,
  args: readonly string[],
  environment: RolloutEnvironment = { isTerminal: () => process.stdout.isTTY, nowMs: Date.now, random: Math.random },
): Promise<number> {
  const parsed = parseRolloutArguments(args);
  if (typeof parsed === "string") {
    context.stderr(`weir rollout: ${parsed}; weir rollout --help tells more\n`);
    return EXIT_FAILURE;
  }
  return parsed.until === "once" ? await show(context, parsed, environment) : await watch(context, parsed, environment);
}

async function show(
  context: Pick<ProgramContext, "stdout" | "stderr" | "signal">,
  options: RolloutArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  const targets = await findTargets(options.servers);
  const { signal } = context;
  const answers = await Promise.all(
    targets.map(async (target) => ({ server: target.label, ...(await askOnce(target, options.filter, signal)) })),
  );
  const merged = mergeRollouts(answers);
  const failures = merged.replicas.flatMap(({ error }) => (error === undefined ? [] : [`weir rollout: ${error}\n`]));
  if (failures.length < merged.replicas.length || options.format === "json") context.stdout(printed(merged, options, environment));
  context.stderr(failures.join(""));
  return exitCode(merged);
}

async function watch(
  context: Pick<ProgramContext, "stdout" | "stderr" | "signal">,
  options: RolloutArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  let before: MergedRollout | undefined;
  const done = new AbortController();
  const isScreen = options.format === "table" && environment.isTerminal();
  if (isScreen) context.stdout(CLEAR_SCREEN);
  const tell = (merged: MergedRollout): void => {
    if (options.format === "json") context.stdout(formatRolloutJson(merged, false));
    else if (isScreen) context.stdout(drawn(formatTable(merged, environment.nowMs())));
    else
      context.stdout(
        changedLines(before, merged, environment.nowMs())
          .map((line) => `${line}\n`)
          .join(""),
      );
    before = merged;
    if (options.until === "wait" && exitCode(merged) === EXIT_DONE) done.abort();
  };
  const timer = options.until === "wait" ? setTimeout(() => done.abort(), options.timeoutMs) : undefined;
  const signal = AbortSignal.any([context.signal, done.signal]);
  const last = await watchRollout(options, { signal, random: environment.random, tell });
  clearTimeout(timer);
  return last === undefined ? EXIT_FAILURE : exitCode(last);
}

function drawn(text: string): string {
  return `${CURSOR_HOME}${text.replaceAll("\n", `${CLEAR_LINE_END}\n`)}${CLEAR_BELOW}`;
}

function printed(merged: MergedRollout, { format }: RolloutArguments, environment: RolloutEnvironment): string {
  return format === "json" ? formatRolloutJson(merged, true) : formatTable(merged, environment.nowMs());
}

function exitCode(merged: MergedRollout): number {
  if (merged.replicas.length === 0 || merged.replicas.some(({ error }) => error !== undefined)) return EXIT_FAILURE;
  return merged.problems.length === 0 ? EXIT_DONE : EXIT_NOT_DONE;
}
