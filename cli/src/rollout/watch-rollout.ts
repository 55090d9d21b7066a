// Watches every replica until the signal aborts: reconnects after a pause, and reports the merged
// rollout when it changes.
import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "@weir/common/backoff/backoff";
import { mergeRollouts } from "@weir/proto/rollout/merge-rollouts";
import type { MergedRollout, ReplicaAnswer } from "@weir/proto/rollout/merged-rollout";

import type { RolloutArguments } from "./arguments.ts";
import { type FindDeps, findTargets, type Question, type Target, watchReplica } from "./rollout-client.ts";

/** Waits between attempts to connect, in milliseconds. */
const BACKOFF = { initialMs: 250, maxMs: 5_000, factor: 1, jitter: true } as const;

/** How long changes are collected, in milliseconds: an edit reaches all replicas in moments. */
const COLLECT_MS = 50;

/** When a lost connection is reported, in milliseconds: proxies cut idle ones, which reconnect. */
const REPORT_LOST_AFTER_MS = 1_000;

export interface WatchDeps extends FindDeps {
  readonly signal: AbortSignal;
  readonly random: () => number;
  readonly answerTimeoutMs: number;
  /** How often servers' names are looked up again, in milliseconds: replicas come and go. */
  readonly lookupIntervalMs: number;
  readonly report: (merged: MergedRollout) => void;
  readonly notice: Question["notice"];
}

type WatchOptions = Pick<RolloutArguments, "servers" | "access" | "filter" | "needsPods">;

/**
 * Watches the servers until the signal aborts; `report` gets the first rollout when every replica
 * has answered or failed. Returns the last one.
 */
export async function watchRollout(options: WatchOptions, deps: WatchDeps): Promise<MergedRollout | undefined> {
  const { signal } = deps;
  const watch = new RolloutWatch(options, deps);
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  while (!signal.aborted) {
    // Nothing interrupts a slow resolver.
    await Promise.race([watch.lookUp(), aborted]);
    await sleep(deps.lookupIntervalMs, signal);
  }
  return watch.ended();
}

interface WatchedReplica {
  /** True while the servers' names resolve to it. */
  isNamed: boolean;
  readonly end: AbortController;
  answer: ReplicaAnswer | undefined;
  done: Promise<void>;
}

class RolloutWatch {
  readonly #options: WatchOptions;
  readonly #deps: WatchDeps;
  /** By label. */
  readonly #replicas = new Map<string, WatchedReplica>();
  #last: MergedRollout | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions, deps: WatchDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  async lookUp(): Promise<void> {
    const targets = await findTargets(this.#options.servers, this.#deps);
    const named = new Set(targets.map(({ label }) => label));
    for (const [label, replica] of [...this.#replicas]) {
      replica.isNamed = named.has(label);
      if (!replica.isNamed && replica.answer?.error !== undefined) this.#forget(label);
    }
    for (const target of targets) if (!this.#replicas.has(target.label)) this.#begin(target);
  }

  async ended(): Promise<MergedRollout | undefined> {
    await Promise.all([...this.#replicas.values()].map(async ({ done }) => done));
    clearTimeout(this.#timer);
    return this.#last;
  }

  #begin(target: Target): void {
    const { signal, random, answerTimeoutMs, notice } = this.#deps;
    const { filter, access } = this.#options;
    const replica: WatchedReplica = {
      isNamed: true,
      end: new AbortController(),
      answer: undefined,
      done: Promise.resolve(),
    };
    this.#replicas.set(target.label, replica);
    const question = { filter, access, answerTimeoutMs, notice, signal: AbortSignal.any([signal, replica.end.signal]) };
    replica.done = follow(target, question, new Backoff({ ...BACKOFF, random }), (answer) => {
      // The error of a connection that was ended here means nothing.
      if (question.signal.aborted) return;
      replica.answer = answer;
      // A replica without a name was replaced: it is reported only as long as it answers.
      if (!replica.isNamed && answer.error !== undefined) this.#forget(target.label);
      else this.#collect();
    });
  }

  #forget(label: string): void {
    this.#replicas.get(label)?.end.abort();
    this.#replicas.delete(label);
    this.#collect();
  }

  #collect(): void {
    const answers = [...this.#replicas.values()].map(({ answer }) => answer);
    // The first report is complete; later, a new replica that is silent delays none.
    if (this.#last === undefined && answers.includes(undefined)) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const known = [...this.#replicas.values()].flatMap(({ answer }) => answer ?? []);
      const { filter, needsPods } = this.#options;
      this.#last = mergeRollouts(known, { ...filter, needsPods });
      this.#deps.report(this.#last);
    }, COLLECT_MS);
  }
}

/** Watches one replica until the signal aborts. */
async function follow(
  target: Target,
  question: Question,
  backoff: Backoff,
  report: (answer: ReplicaAnswer) => void,
): Promise<void> {
  const { signal } = question;
  let lost: NodeJS.Timeout | undefined;
  while (!signal.aborted) {
    let answers = 0;
    const error = await watchReplica(target, question, (rollout) => {
      answers += 1;
      clearTimeout(lost);
      backoff.reset();
      report({ server: target.label, rollout });
    });
    // Without its old rollout: the pods of a lost replica connect to others, and would count twice.
    const reportLost = (): void => report({ server: target.label, error });
    clearTimeout(lost);
    if (answers > 0) lost = setTimeout(reportLost, REPORT_LOST_AFTER_MS);
    else reportLost();
    await sleep(backoff.nextMs(), signal);
  }
  clearTimeout(lost);
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined); // Only the signal ends a pause early.
}
