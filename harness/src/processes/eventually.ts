// Waits for a condition with a deadline: the only way in which tests wait for anything.
import { setTimeout as delay } from "node:timers/promises";

/** Time between two attempts, in milliseconds. */
const RETRY_INTERVAL_MS = 25;

/**
 * Longest wait when none is named, in milliseconds: generous, because the machine of a test may be
 * busy.
 */
const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Repeats `attempt` until it does not throw, and returns what it returned. After `timeoutMs` throws
 * the last error with `what` was waited for in front.
 */
export async function eventually<T>(
  what: string,
  attempt: () => T | Promise<T>,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (performance.now() >= deadlineMs) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`Waited ${timeoutMs} ms for ${what}: ${reason}`, { cause });
      }
    }
    await delay(RETRY_INTERVAL_MS);
  }
}

/** Waits until the condition is true; throws after the deadline, naming it. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (!(await condition())) throw new Error("it is not so");
  };
  await eventually(what, attempt, timeoutMs);
}
