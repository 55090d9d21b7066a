// Watches the control plane's status while the stack runs and tells the person what changed: which
// version a pod accepted, and what is wrong with a manifest. It compares states and reads no log
// lines, so it neither misses nor repeats anything.
import { setTimeout as delay } from "node:timers/promises";
import { DevError } from "./errors.ts";
import type { RolloutState } from "./rollout-state.ts";
import { describeChanges, readRolloutState } from "./rollout-state.ts";

/** Time between two looks, in milliseconds: a saved manifest should be told about at once. */
const LOOK_INTERVAL_MS = 150;

/** Longest wait for one answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2000;

/** Says one thing to the person; the speaker is who it is about. */
export type Say = (speaker: string, text: string) => void;

/** A running watch. */
export interface RolloutWatch {
  /**
   * Resolves when a pod has accepted a version for the first time; rejects with STACK_NOT_READY
   * after `timeoutMs`.
   */
  firstAccepted(timeoutMs: number): Promise<void>;
  stop(): void;
}

/** Starts to watch the status at `url`. */
export function watchRollout(url: string, say: Say): RolloutWatch {
  let state: RolloutState | undefined;
  let accepted: () => void = () => undefined;
  const hasAccepted = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  const stopped = new AbortController();
  void follow(url, stopped.signal, (next) => {
    for (const { speaker, text } of describeChanges(state, next)) say(speaker, text);
    state = next;
    if (next.pods.some((pod) => pod.accepted !== undefined)) accepted();
  });
  return {
    stop: () => stopped.abort(),
    firstAccepted: (timeoutMs) => {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(notAccepted(timeoutMs)), timeoutMs);
        stopped.signal.addEventListener("abort", () => resolve(), { once: true });
        void hasAccepted.then(() => resolve()).finally(() => clearTimeout(timer));
      });
    },
  };
}

async function follow(url: string, stopped: AbortSignal, onState: (state: RolloutState) => void): Promise<void> {
  const hasStopped = (): boolean => stopped.aborted;
  while (!hasStopped()) {
    const state = await look(url);
    // A stop during the look: the programs are going away, and that is no news about manifests.
    if (state !== undefined && !hasStopped()) onState(state);
    await delay(LOOK_INTERVAL_MS);
  }
}

async function look(url: string): Promise<RolloutState | undefined> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    return response.ok ? readRolloutState(await response.json()) : undefined;
  } catch {
    return undefined; // No answer: whether the program is gone is the supervisor's to tell.
  }
}

function notAccepted(timeoutMs: number): DevError {
  return new DevError(
    "STACK_NOT_READY",
    `No rate limit pod accepted a configuration within ${timeoutMs / 1000} s; .run/logs has what both sides wrote`,
  );
}
