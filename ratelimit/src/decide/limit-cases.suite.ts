// The cases of limits beyond plain counts over a store: the tests of memory and of Redis decide the same.
import { configuration, descriptor, entries } from "@weir/limits/rules/configuration.suite";
import { CASES_BEGIN_SECONDS, LIMIT_CASES, type LimitCase } from "@weir/limits/cell/limit-cases.suite";
import { type DescriptorStatus, OVER_LIMIT } from "@weir/limits/classify/status";
import { expect, it } from "vitest";
import type { Counter } from "../counters/counter.ts";
import type { LimitCount } from "@weir/limits/classify/limit-count";
import { DeciderFixture, WaitingCall } from "./decider.suite.ts";

/** How long a store may take to read, in milliseconds. */
const READ_MAX_MS = 10_000;

/** A decider with one rule for the key `key`, whose limits are those of the case. */
function caseFixture({ limits }: LimitCase, counter: Counter, domain: string): DeciderFixture {
  const rule = descriptor({ key: "key", rateLimits: limits });
  return new DeciderFixture({ configs: [configuration(domain, [rule])], counter, nowSeconds: CASES_BEGIN_SECONDS });
}

/** Decides one call of so many hits to the rule of `caseFixture`. */
async function decideHits(
  fixture: DeciderFixture,
  domain: string,
  atMs: number,
  hits: number,
): Promise<DescriptorStatus> {
  fixture.nowMs = CASES_BEGIN_SECONDS * 1000 + Math.round(atMs);
  const call = new WaitingCall();
  const descriptors = [{ entries: entries("key=x"), hitsAddend: BigInt(Math.abs(hits)), isNegativeHits: hits < 0 }];
  fixture.decider.decide({ domain, descriptors, hitsAddend: 0 }, call);
  await call.answered;
  const [status] = call.decision.statuses;
  if (status === undefined) throw new Error("A decision must have a status for each descriptor");
  return status;
}

/** Reads what the limits of the rule have counted. */
async function readCounts({ decider }: DeciderFixture, domain: string): Promise<readonly LimitCount[]> {
  const deadlineMs = performance.now() + READ_MAX_MS;
  const [counts] = await decider.readCounts({ domain, descriptors: [entries("key=x")], deadlineMs });
  return counts?.limits ?? [];
}

/** Defines two tests for each case, by default all. */
export function testLimitCases(counter: () => Counter, cases: readonly LimitCase[] = LIMIT_CASES): void {
  for (const [index, each] of cases.entries()) {
    it(`decide() counts ${each.name}`, async () => {
      const domain = `case-${index}`;
      const fixture = caseFixture(each, counter(), domain);
      for (const [atSeconds, hits, code, remaining, reset] of each.steps) {
        const status = await decideHits(fixture, domain, atSeconds * 1000, hits);
        const { limitRemaining, durationUntilResetSeconds } = status;
        const answer = [status.code === OVER_LIMIT ? "X" : "O", limitRemaining, durationUntilResetSeconds];
        expect(answer, `${hits} hits at ${atSeconds} s`).toEqual([code, remaining, reset]);
      }
    });

    it(`readCounts() counts nothing, and gives what the answers give, of ${each.name}`, async () => {
      const domain = `read-case-${index}`;
      const fixture = caseFixture(each, counter(), domain);
      for (const [atSeconds, hits, code, remaining, reset] of each.steps) {
        fixture.nowMs = CASES_BEGIN_SECONDS * 1000 + Math.round(atSeconds * 1000);
        await readCounts(fixture, domain);
        const { limitRemaining } = await decideHits(fixture, domain, atSeconds * 1000, hits);
        expect(limitRemaining).toBe(remaining);
        const counts = await readCounts(fixture, domain);
        expect(await readCounts(fixture, domain)).toEqual(counts);
        for (const count of counts) {
          expect(count.remaining).toBe(Math.max(0, count.capacity - count.hits));
          expect(count.retrySeconds > 0).toBe(count.remaining === 0);
        }
        const [count, ...others] = counts;
        if (count === undefined || others.length > 0) continue;
        const resets = code === "O" ? Math.max(1, count.resetSeconds) : hits <= 1 ? count.retrySeconds : reset;
        expect([count.remaining, resets], `${hits} hits at ${atSeconds} s`).toEqual([remaining, reset]);
      }
    });
  }
}
