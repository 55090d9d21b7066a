// The command `weir top`: watches what pods count, and prints it once or each second.
import { setTimeout as pause } from "node:timers/promises";

import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { EXIT_OK, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import {
  checkAccess,
  PROCESS,
  runInCluster,
  type RolloutContext,
  type RolloutEnvironment,
} from "../rollout/rollout-command.ts";
import { CLEAR_SCREEN, drawn } from "../rollout/screen.ts";
import { parseTopArguments, type TopArguments } from "./arguments.ts";
import { AskedKeys } from "./asked-keys.ts";
import { CountsWatch, type KeyedRule, type WatchedReplica } from "./counts-watch.ts";
import { topText } from "./top-text.ts";
import { type KnownRules, rulesToAsk, topView, type TopView } from "./top-view.ts";

/** How often the view is made, in milliseconds. */
const REFRESH_MS = 1000;

/** How often a view that is not complete yet is looked at, in milliseconds. */
const LOOK_MS = 50;

/** When limits of rules are asked for again, in milliseconds: a resource may have been edited. */
const INFOS_MAX_AGE_MS = 10_000;

/**
 * Responses of a replica after which its view is complete: they come every half second, the past of pods with the second
 * at the latest, and their keys within a second.
 */
const COMPLETE_RESPONSES = 4;

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runTop(
  context: RolloutContext,
  args: readonly string[],
  environment: RolloutEnvironment = PROCESS,
): Promise<number> {
  const parsed = parseTopArguments(args, context);
  if (typeof parsed === "string") {
    context.stderr(`weir top: ${parsed}; see weir top --help\n`);
    return EXIT_USAGE;
  }
  const options = checkAccess(parsed, context);
  if (typeof options === "string") {
    context.stderr(`weir top: ${options}\n`);
    return EXIT_USAGE;
  }
  const { replicas } = options;
  if (replicas === undefined) return await run(context, options, environment);
  try {
    return await runInCluster(context, replicas, environment, (found) => run(context, options, found));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir top: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  }
}

async function run(context: RolloutContext, options: TopArguments, environment: RolloutEnvironment): Promise<number> {
  const done = new AbortController();
  const signal = AbortSignal.any([context.signal, done.signal]);
  const watch = new CountsWatch(options, { ...environment, env: context.env, signal });
  const running = watch.run();
  try {
    const screen = options.format === "table" && context.env["TERM"] !== "dumb" ? environment.screen() : undefined;
    const isOnce = options.once || (options.format === "table" && screen === undefined);
    await untilComplete(watch, signal, environment);
    const asked = new AskedKeys();
    const askNewKeys = async (): Promise<void> => {
      if (options.view !== "keys" || signal.aborted) return;
      const rules = rulesToAsk(topView(watch.replicas(), options), options.paths);
      if (!asked.replace(rules, environment.nowMs())) return;
      watch.askKeys(rules);
      await untilComplete(watch, signal, environment); // Until then, what is shown would be a part of the counts.
    };
    const infos = new RuleInfos(watch, environment.nowMs);
    await askNewKeys();
    if (isOnce) return printOnce(context, options, await infos.view(options));
    if (screen !== undefined) context.stdout(CLEAR_SCREEN);
    while (!signal.aborted) {
      const view = await infos.view(options);
      const size = environment.screen();
      context.stdout(options.format === "json" || size === undefined ? jsonText(view) : drawn(topText(view), size));
      await pause(REFRESH_MS, undefined, { signal }).catch(() => undefined); // Only the signal ends a pause early.
      await askNewKeys();
    }
    return exitCode(watch.replicas());
  } finally {
    done.abort();
    await running;
  }
}

function printOnce(context: RolloutContext, { format }: TopArguments, view: TopView): number {
  const isKnown = view.replicas.some(({ error }) => error === undefined);
  if (format === "json") context.stdout(`${JSON.stringify(view, undefined, 2)}\n`);
  else if (isKnown) context.stdout(topText(view));
  for (const { error } of view.replicas) if (error !== undefined) context.stderr(`weir top: ${printable(error)}\n`);
  return exitCode(view.replicas);
}

/** The known details of the rules that are shown. */
class RuleInfos {
  readonly #watch: CountsWatch;
  readonly #nowMs: () => number;
  #known: KnownRules = new Map();
  #askedMs = -Infinity;

  constructor(watch: CountsWatch, nowMs: () => number) {
    this.#watch = watch;
    this.#nowMs = nowMs;
  }

  /** The view with them. Edits are seen after a while, further rules immediately. */
  async view(options: TopArguments): Promise<TopView> {
    const view = topView(this.#watch.replicas(), options, this.#known);
    const isOld = this.#nowMs() - this.#askedMs >= INFOS_MAX_AGE_MS;
    if (!isOld && view.rules.every(({ limit }) => limit !== undefined)) return view;
    this.#askedMs = this.#nowMs();
    const fleets = [...Map.groupBy(view.rules, ({ fleet }) => fleet)];
    this.#known = new Map(
      await Promise.all(
        fleets.map(async ([fleet, rules]) => [fleet, await this.#watch.getRules(fleet, rules.map(nameOf))] as const),
      ),
    );
    return topView(this.#watch.replicas(), options, this.#known);
  }
}

function nameOf({ domain, path }: KeyedRule): KeyedRule {
  return { domain, path };
}

/** Waits until every replica has sent all that it knows, or has failed. */
async function untilComplete(watch: CountsWatch, signal: AbortSignal, environment: RolloutEnvironment): Promise<void> {
  const endMs = environment.nowMs() + environment.answerTimeoutMs;
  const isComplete = (): boolean => {
    const replicas = watch.replicas();
    return replicas.length > 0 && replicas.every((each) => each.error !== undefined || hasEverything(each));
  };
  while (!signal.aborted && !isComplete() && environment.nowMs() < endMs)
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined); // Only the signal ends a pause early.
}

function hasEverything({ counts }: WatchedReplica): boolean {
  return (counts?.responses ?? 0) >= COMPLETE_RESPONSES;
}

function jsonText(view: TopView): string {
  return `${JSON.stringify(view)}\n`;
}

function exitCode(replicas: readonly { readonly error?: string | undefined }[]): number {
  return replicas.length === 0 || replicas.some(({ error }) => error !== undefined) ? EXIT_USAGE : EXIT_OK;
}
