// Upper bounds on times in tests. How long something takes on a machine with other work says little
// about the program, but a program that is slow is slow every time: so the bound has to be kept
// once in a few attempts.

/** How often it is attempted. */
const ATTEMPTS_MAX = 8;

/**
 * Repeats `attempt`, which is told its number from 1 on and answers how long it took in
 * milliseconds, until it took less than `maxMs`; throws when it never did. What is awaited in an
 * attempt has a deadline of its own, which is long.
 */
export async function oneWithin(
  what: string,
  maxMs: number,
  attempt: (number: number) => Promise<number>,
): Promise<void> {
  const times: number[] = [];
  while (times.length < ATTEMPTS_MAX) {
    const tookMs = await attempt(times.length + 1);
    if (tookMs < maxMs) return;
    times.push(tookMs);
  }
  throw new Error(`${what} took ${times.map((ms) => ms.toFixed(0)).join(", ")} ms, never less than ${maxMs} ms`);
}

/** How long an action took, in milliseconds. */
export async function msOf(action: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await action();
  return performance.now() - beganMs;
}
