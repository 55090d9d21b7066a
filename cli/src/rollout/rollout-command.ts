// The command `weir rollout`: asks the replicas once or until it is interrupted, and prints the
// rollout.
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { mergeRollouts } from "@weir/proto/rollout/merge-rollouts";
import type { MergedRollout } from "@weir/proto/rollout/merged-rollout";
import { replicaErrors } from "@weir/proto/rollout/replica-errors";

import type { ReplicasChoice } from "../cluster/replicas-choice.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import { parseRolloutArguments, type RolloutArguments } from "./arguments.ts";
import { changedLines } from "./changes.ts";
import { readCredentials, readPipedToken } from "./credentials.ts";
import { proxyProblem } from "./proxy.ts";
import { formatRolloutJson, formatTable } from "./report.ts";
import { askOnce, type FindDeps, findTargets, resolveAll } from "./rollout-client.ts";
import { CLEAR_SCREEN, drawn, screenOf, type ScreenSize } from "./screen.ts";
import { watchRollout } from "./watch-rollout.ts";

/** Longest wait for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** How often the names of servers are looked up again while they are watched, in milliseconds. */
const LOOKUP_INTERVAL_MS = 5_000;

/** The parts of the process that the command uses in addition to its context. */
export interface RolloutEnvironment {
  /** The size of the terminal at standard output; undefined: no terminal. */
  readonly screen: () => ScreenSize | undefined;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly answerTimeoutMs: number;
  readonly lookupIntervalMs: number;
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly findReplicas?: FindDeps["findReplicas"];
}

/** The environment of a process. */
export const PROCESS: RolloutEnvironment = {
  screen: () => screenOf(process.stdout),
  nowMs: Date.now,
  random: Math.random,
  answerTimeoutMs: ANSWER_TIMEOUT_MS,
  lookupIntervalMs: LOOKUP_INTERVAL_MS,
  resolve: resolveAll,
};

/** The parts of its program that the command uses. */
export type RolloutContext = Pick<ProgramContext, "stdout" | "stderr" | "signal" | "env"> & {
  /** True if the replicas are those of a cluster unless the command line names servers. */
  readonly usesCluster?: boolean;
};

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runRollout(
  context: RolloutContext,
  args: readonly string[],
  environment: RolloutEnvironment = PROCESS,
): Promise<number> {
  const parsed = parseRolloutArguments(args, context);
  if (typeof parsed === "string") {
    context.stderr(`weir rollout: ${parsed}; see weir rollout --help\n`);
    return EXIT_USAGE;
  }
  const options = checkAccess(parsed, context);
  if (typeof options === "string") {
    context.stderr(`weir rollout: ${options}\n`);
    return EXIT_USAGE;
  }
  const { replicas, filter } = options;
  if (replicas === undefined) return await run(context, options, environment);
  try {
    return await runInCluster(context, replicas, environment, (found, ownNamespace) => {
      const namespace = filter.name !== "" && filter.namespace === "" ? ownNamespace : filter.namespace;
      return run(context, { ...options, filter: { ...filter, namespace } }, found);
    });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir rollout: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  }
}

async function run(
  context: RolloutContext,
  options: RolloutArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  return options.until === "once"
    ? await show(context, options, environment)
    : await watch(context, options, environment);
}

/** Runs with the replicas of a cluster; fails with ServiceError when they cannot be found. */
export async function runInCluster(
  { env, signal }: Pick<RolloutContext, "env" | "signal">,
  replicas: ReplicasChoice,
  environment: RolloutEnvironment,
  run: (environment: RolloutEnvironment, namespace: string) => Promise<number>,
): Promise<number> {
  // Loaded for clusters only.
  const { openCluster } = await import("../cluster/open-cluster.ts");
  const { followReplicas } = await import("../cluster/control-plane-replicas.ts");
  const cluster = await openCluster(replicas, env);
  try {
    const findReplicas = await followReplicas(cluster, replicas, signal);
    return await run({ ...environment, findReplicas }, cluster.namespace);
  } finally {
    await cluster.close();
  }
}

/** The arguments with the token of a pipe; a text is the problem with a proxy or file. */
export function checkAccess<Arguments extends Pick<RolloutArguments, "servers" | "access">>(
  parsed: Arguments,
  { env }: Pick<RolloutContext, "env">,
): Arguments | string {
  const access = readPipedToken(parsed.access);
  if (typeof access === "string") return access;
  const credentials = parsed.servers.map((server) => readCredentials(access, server));
  const problem = proxyProblem(parsed.servers, env) ?? credentials.find((found) => typeof found === "string");
  return problem ?? { ...parsed, access };
}

async function show(
  context: RolloutContext,
  options: RolloutArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  const targets = await findTargets(options.servers, { ...environment, env: context.env });
  const question = {
    filter: options.filter,
    access: options.access,
    signal: context.signal,
    answerTimeoutMs: environment.answerTimeoutMs,
    notice: noticeTo(context),
  };
  const answers = await Promise.all(
    targets.map(async (target) => ({ server: target.label, ...(await askOnce(target, question, environment)) })),
  );
  const merged = mergeRollouts(answers, options.filter);
  if (merged.replicas.some(({ error }) => error === undefined) || options.format === "json")
    context.stdout(printed(merged, options, environment));
  for (const error of replicaErrors(merged.replicas)) context.stderr(`weir rollout: ${printable(error)}\n`);
  return exitCode(merged);
}

async function watch(
  context: RolloutContext,
  options: RolloutArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  let before: MergedRollout | undefined;
  let written = "";
  const done = new AbortController();
  const screen = (): ScreenSize | undefined =>
    options.format === "json" || context.env["TERM"] === "dumb" ? undefined : environment.screen();
  if (screen() !== undefined) context.stdout(CLEAR_SCREEN);
  const report = (merged: MergedRollout): void => {
    const size = screen();
    if (options.format === "json") {
      const object = formatRolloutJson(merged, false);
      if (object !== written) context.stdout(object);
      written = object;
    } else if (size !== undefined) context.stdout(drawn(formatTable(merged, environment.nowMs()), size));
    else for (const line of changedLines(before, merged, environment.nowMs())) context.stdout(`${line}\n`);
    before = merged;
    if (options.until === "wait" && exitCode(merged) === EXIT_OK) done.abort();
  };
  const timer = options.until === "wait" ? setTimeout(() => done.abort(), options.timeoutMs) : undefined;
  const signal = AbortSignal.any([context.signal, done.signal]);
  const last = await watchRollout(options, {
    ...environment,
    env: context.env,
    signal,
    report,
    notice: noticeTo(context),
  });
  clearTimeout(timer);
  if (last !== undefined) return exitCode(last);
  context.stderr(
    `weir rollout: no answer yet from ${options.servers.length === 0 ? "the control plane" : options.servers.join(", ")}\n`,
  );
  return EXIT_USAGE;
}

/** Prints each notice once. */
function noticeTo({ stderr }: RolloutContext): (text: string) => void {
  const known = new Set<string>();
  return (text) => {
    if (known.has(text)) return;
    known.add(text);
    stderr(`weir rollout: ${printable(text)}\n`);
  };
}

function printed(merged: MergedRollout, { format }: RolloutArguments, environment: RolloutEnvironment): string {
  return format === "json" ? formatRolloutJson(merged, true) : formatTable(merged, environment.nowMs());
}

function exitCode(merged: MergedRollout): number {
  if (merged.replicas.length === 0 || merged.replicas.some(({ error }) => error !== undefined)) return EXIT_USAGE;
  return merged.problems.length === 0 ? EXIT_OK : EXIT_PROBLEMS;
}
