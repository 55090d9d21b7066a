// A client that calls in a steady rhythm and notes how long each answer takes.
import type { RateLimitService } from "@weir/harness/weir/rate-limit-service";

/** Time between two calls, in milliseconds. */
const INTERVAL_MS = 10;

/** Longest wait for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Calls the service, and `onCall` after each call, until `isOver`; returns the times in milliseconds, in order of size. */
export async function measureAnswers(
  service: RateLimitService,
  isOver: () => boolean,
  onCall: () => void,
): Promise<readonly number[]> {
  const times: number[] = [];
  const waiting: Promise<void>[] = [];
  const call = async (): Promise<void> => {
    const startMs = performance.now();
    const { code } = await service.askWithin(ANSWER_TIMEOUT_MS, "attacks", { entries: { user: "alice" } });
    times.push(performance.now() - startMs);
    if (code !== "OK") throw new Error(`The good client was answered ${code}`);
  };
  while (!isOver()) {
    waiting.push(call());
    onCall();
    await new Promise((resolve) => void setTimeout(resolve, INTERVAL_MS));
  }
  await Promise.all(waiting);
  return times.sort((a, b) => a - b);
}
