// The time of refused passwords, with bcrypt itself: what an attacker measures who looks for
// accounts.
import { describe, expect, it } from "vitest";
import type { Place } from "../fairness/work-queue.ts";
import { createPasswordHasher } from "./password-hasher.ts";

/** Comparisons of each kind. */
const ROUNDS = 60;

const PLACE: Place = { run: (work) => work(), [Symbol.dispose]: () => undefined };
const QUEUE = {
  run: <T>(_networks: readonly string[], work: () => Promise<T>): Promise<T> => work(),
  reserve: () => PLACE,
};

function median(values: readonly number[]): number {
  return Number(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]);
}

describe("createPasswordHasher() after the cost was raised from 5 to 8", () => {
  it("refuses a password of an account with the old cost as slowly as one of an unknown account", async () => {
    const old = await createPasswordHasher(QUEUE, { cost: 5, pepper: undefined }).hash("correct horse", PLACE);
    const hasher = createPasswordHasher(QUEUE, { cost: 8, pepper: undefined });
    const times = { old: [] as number[], unknown: [] as number[] };
    const measure = async (kind: keyof typeof times, stored: string | undefined): Promise<void> => {
      const startedAt = performance.now();
      expect(await hasher.verify("wrong horse", stored, [])).toBe(false);
      times[kind].push(performance.now() - startedAt);
    };
    for (let round = 0; round < ROUNDS; round++) {
      await measure("old", old);
      await measure("unknown", undefined);
    }
    const ratio = median(times.old) / median(times.unknown);
    // Without padding the ratio is about 1/8. A comparison has a cost of its own, and there are four.
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.7);
  });
});
