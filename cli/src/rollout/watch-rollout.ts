// Follows every replica for as long as it is wanted: connects again after a pause, tells the whole
// picture when something has changed.
import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "@weir/common/backoff/backoff";
import type { Env } from "@weir/common/settings/read-env";

import type { RolloutArguments } from "./arguments.ts";
import { mergeRollouts } from "./merge.ts";
import type { MergedRollout, ReplicaAnswer } from "./merge.ts";
import { findTargets, listen } from "./rollout-client.ts";
import type { Question, Target } from "./rollout-client.ts";

/** Waits between attempts to connect, in milliseconds. */
const BACKOFF = { initialMs: 250, maxMs: 5_000, factor: 1, jitter: true } as const;

/**
 * Changes that come closer together than this, in milliseconds, are told once: replicas learn of
 * one edit within moments.
 */
const GATHER_MS = 50;

/**
 * How long a connection that had answered may be gone before that is told, in milliseconds: proxies
 * cut what is idle, and the next one stands at once.
 */
const TELL_GONE_AFTER_MS = 1_000;

/** What watching needs. */
export interface WatchDeps {
  readonly signal: AbortSignal;
  readonly random: () => number;
  readonly answerTimeoutMs: number;
  /**
   * How often the names of the servers are looked up again, in milliseconds: replicas come and go.
   */
  readonly lookupIntervalMs: number;
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Where proxies are named. */
  readonly env: Env;
  readonly tell: (merged: MergedRollout) => void;
}

/**
 * Follows the servers until the signal comes; `tell` gets the first picture once every replica has
 * answered or failed. Gives the last one.
 */
export async function watchRollout(
  options: Pick<RolloutArguments, "servers" | "access" | "filter">,
  deps: WatchDeps,
): Promise<MergedRollout | undefined> {
  const followed = new Map<string, Followed>();
  let last: MergedRollout | undefined;
  let timer: NodeJS.Timeout | undefined;
  const gather = (): void => {
    // The first picture is whole; after that one replica that is new and silent holds up nobody.
    if (last === undefined && [...followed.values()].some(({ answer }) => answer === undefined)) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      last = mergeRollouts(
        [...followed.values()].flatMap(({ answer }) => answer ?? []),
        options.filter,
      );
      deps.tell(last);
    }, GATHER_MS);
  };
  const question = { filter: options.filter, access: options.access, answerTimeoutMs: deps.answerTimeoutMs };
  const begin = (target: Target): void => {
    const end = new AbortController();
    const entry: Followed = { isNamed: true, end, answer: undefined, done: Promise.resolve() };
    const note = (answer: ReplicaAnswer): void => {
      // The last word of a connection that we end ourselves says nothing.
      if (deps.signal.aborted || end.signal.aborted) return;
      entry.answer = answer;
      // What the name does not stand for any more is a replica that was replaced: it is missed only
      // as long as it answers.
      if (!entry.isNamed && answer.error !== undefined) forget(target.label);
      else gather();
    };
    followed.set(target.label, entry);
    entry.done = follow(
      target,
      { ...question, signal: AbortSignal.any([deps.signal, end.signal]) },
      { random: deps.random, note },
    );
  };
  const forget = (label: string): void => {
    followed.get(label)?.end.abort();
    followed.delete(label);
    gather();
  };
  const look = async (): Promise<void> => {
    const targets = await findTargets(options.servers, deps);
    const named = new Set(targets.map(({ label }) => label));
    for (const [label, entry] of [...followed]) {
      entry.isNamed = named.has(label);
      if (!entry.isNamed && entry.answer?.error !== undefined) forget(label);
    }
    for (const target of targets) if (!followed.has(target.label)) begin(target);
  };
  const aborted = new Promise((resolve) => deps.signal.addEventListener("abort", resolve, { once: true }));
  while (!deps.signal.aborted) {
    // Nothing interrupts a resolver that is slow.
    await Promise.race([look(), aborted]);
    await sleep(deps.lookupIntervalMs, deps.signal);
  }
  await Promise.all([...followed.values()].map(async ({ done }) => done));
  clearTimeout(timer);
  return last;
}

/** One replica that is followed, by its label. */
interface Followed {
  /** Whether the servers' names stand for it still. */
  isNamed: boolean;
  readonly end: AbortController;
  answer: ReplicaAnswer | undefined;
  done: Promise<void>;
}

async function follow(
  target: Target,
  question: Question,
  deps: { readonly random: () => number; readonly note: (answer: ReplicaAnswer) => void },
): Promise<void> {
  const backoff = new Backoff({ ...BACKOFF, random: deps.random });
  const { signal } = question;
  let gone: NodeJS.Timeout | undefined;
  while (!signal.aborted) {
    let answers = 0;
    const error = await listen(target, question, (rollout) => {
      answers += 1;
      clearTimeout(gone);
      backoff.reset();
      deps.note({ server: target.label, rollout });
    });
    // The pods of a replica that is gone connect to another: its old picture would count them
    // twice.
    const tell = (): void => deps.note({ server: target.label, error });
    clearTimeout(gone);
    if (answers > 0) gone = setTimeout(tell, TELL_GONE_AFTER_MS);
    else tell();
    await sleep(backoff.nextMs(), signal);
  }
  clearTimeout(gone);
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined); // Only the signal ends a pause early.
}
