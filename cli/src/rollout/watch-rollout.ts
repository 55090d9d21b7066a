// Follows every replica for as long as it is wanted: connects again after a pause, tells the whole picture when something has changed.
import { setTimeout as pause } from "node:timers/promises";

import { createBackoff } from "@weir/common/backoff/backoff";

import type { RolloutArguments } from "./arguments.ts";
import { mergeRollouts } from "./merge.ts";
import type { MergedRollout, ReplicaAnswer } from "./merge.ts";
import { findTargets, listen } from "./rollout-client.ts";
import type { Target } from "./rollout-client.ts";

/** Waits between attempts to connect, in milliseconds. */
const BACKOFF = { initialMs: 250, maxMs: 5_000, factor: 1, jitter: true } as const;

/** Changes that come closer together than this, in milliseconds, are told once: replicas learn of one edit within moments. */
const GATHER_MS = 50;

/** Follows the servers until the signal comes; `tell` gets the first picture once every replica has answered or failed. Gives the last one. */
export async function watchRollout(
  options: Pick<RolloutArguments, "servers" | "filter">,
  deps: { readonly signal: AbortSignal; readonly random: () => number; readonly tell: (merged: MergedRollout) => void },
): Promise<MergedRollout | undefined> {
  const targets = await findTargets(options.servers);
  const answers = new Map<Target, ReplicaAnswer>();
  let last: MergedRollout | undefined;
  let timer: NodeJS.Timeout | undefined;
  const gather = (): void => {
    if (answers.size < targets.length) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      last = mergeRollouts(targets.flatMap((target) => answers.get(target) ?? []));
      deps.tell(last);
    }, GATHER_MS);
  };
  const note = (target: Target, answer: ReplicaAnswer): void => {
    if (deps.signal.aborted) return;
    answers.set(target, answer);
    gather();
  };
  await Promise.all(targets.map(async (target) => follow(target, { filter: options.filter, note, ...deps })));
  clearTimeout(timer);
  return last;
}

async function follow(
  target: Target,
  deps: {
    readonly filter: RolloutArguments["filter"];
    readonly signal: AbortSignal;
    readonly random: () => number;
    readonly note: (target: Target, answer: ReplicaAnswer) => void;
  },
): Promise<void> {
  const backoff = createBackoff({ ...BACKOFF, random: deps.random });
  while (!deps.signal.aborted) {
    const error = await listen(target, {
      filter: deps.filter,
      signal: deps.signal,
      tell: (rollout) => {
        backoff.reset();
        deps.note(target, { server: target.label, rollout });
      },
    });
    // The pods of a replica that is gone connect to another: its old picture would count them twice.
    deps.note(target, { server: target.label, error });
    await pause(backoff.nextMs(), undefined, { signal: deps.signal }).catch(() => undefined); // Only the signal ends a pause early.
  }
}
