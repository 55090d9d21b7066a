import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";
import { describe, expect, it } from "vitest";

import type { ComputedStatus } from "./status-of.ts";
import { dueWrite, nextCountsIntervalMs } from "./write-delay.ts";

const NOW_MS = 100_000;

function statusWith(reason: string, total: number): RateLimitConfigStatus {
  return {
    observedGeneration: 1,
    conditions: [
      {
        type: "Programmed",
        status: "True",
        reason,
        message: `${total} pods`,
        lastTransitionTime: "2026-01-31T12:00:00Z",
      },
    ],
    pods: { total, accepted: total, rejected: 0, pending: 0, summary: `${total}/${total}` },
    fleets: [{ name: "*", version: "d1", total, accepted: total, rejected: 0, pending: 0 }],
  };
}

const BEFORE = statusWith("Programmed", 2);

describe("dueWrite()", () => {
  it.each<{
    what: string;
    next: RateLimitConfigStatus;
    awaits?: ComputedStatus["awaits"];
    previous?: RateLimitConfigStatus | undefined;
    writtenMs?: number;
    awaitsSinceMs?: number;
    awaitsPodsSinceMs?: number;
    countsIntervalMs?: number;
    delayMs: number | undefined;
  }>([
    { what: "the same again", next: statusWith("Programmed", 2), delayMs: undefined },
    { what: "the first status", next: BEFORE, previous: undefined, delayMs: 0 },
    { what: "a change of a condition", next: statusWith("NoDataPlane", 2), writtenMs: NOW_MS - 1, delayMs: 0 },
    { what: "counts, the first time", next: statusWith("Programmed", 3), delayMs: 0 },
    { what: "counts, soon again", next: statusWith("Programmed", 3), writtenMs: NOW_MS - 1000, delayMs: 2000 },
    { what: "counts, later", next: statusWith("Programmed", 3), writtenMs: NOW_MS - 3000, delayMs: 0 },
    {
      what: "counts that change again and again",
      next: statusWith("Programmed", 3),
      writtenMs: NOW_MS - 3000,
      countsIntervalMs: 24_000,
      delayMs: 21_000,
    },
    {
      what: "a change of a condition after many of counts",
      next: statusWith("NoDataPlane", 2),
      writtenMs: NOW_MS - 1,
      countsIntervalMs: 60_000,
      delayMs: 0,
    },
    {
      what: "the loss of a connection",
      next: statusWith("PartiallyProgrammed", 2),
      awaits: "connections",
      awaitsSinceMs: NOW_MS - 11_000,
      delayMs: 9000,
    },
    {
      what: "a connection that does not come back",
      next: statusWith("PartiallyProgrammed", 2),
      awaits: "connections",
      awaitsSinceMs: NOW_MS - 20_000,
      delayMs: 0,
    },
    {
      what: "what waits for pods, after replicas",
      next: statusWith("Pending", 2),
      awaits: "pods",
      awaitsSinceMs: NOW_MS - 5000,
      awaitsPodsSinceMs: NOW_MS - 500,
      delayMs: 1500,
    },
    {
      what: "what has waited for pods",
      next: statusWith("Pending", 2),
      awaits: "pods",
      awaitsSinceMs: NOW_MS - 2000,
      awaitsPodsSinceMs: NOW_MS - 2000,
      delayMs: 0,
    },
    {
      what: "what has waited for one answer after the other",
      next: statusWith("Pending", 2),
      awaits: "pods",
      awaitsSinceMs: NOW_MS - 11_000,
      awaitsPodsSinceMs: NOW_MS - 500,
      delayMs: 0,
    },
    {
      what: "what waits for replicas",
      next: statusWith("Pending", 2),
      awaits: "replicas",
      awaitsSinceMs: NOW_MS - 5000,
      delayMs: 6000,
    },
    {
      what: "invalid rules that wait for replicas",
      next: statusWith("InvalidSpec", 2),
      awaits: "replicas",
      awaitsSinceMs: NOW_MS,
      delayMs: 500,
    },
  ])("is $delayMs for $what", ({ next, delayMs, awaits, writtenMs, ...more }) => {
    const previous = "previous" in more ? more.previous : BEFORE;
    const history = {
      writtenMs,
      awaitsSinceMs: more.awaitsSinceMs,
      awaitsPodsSinceMs: more.awaitsPodsSinceMs,
      countsIntervalMs: more.countsIntervalMs,
    };
    expect(dueWrite({ status: next, awaits }, { previous, history }, NOW_MS)?.afterMs).toBe(delayMs);
  });
});

describe("nextCountsIntervalMs()", () => {
  it.each([
    { what: "the first time", writtenMs: undefined, countsIntervalMs: undefined, expected: 3000 },
    { what: "soon after a write", writtenMs: NOW_MS - 3000, countsIntervalMs: undefined, expected: 6000 },
    { what: "soon after two", writtenMs: NOW_MS - 11_999, countsIntervalMs: 6000, expected: 12_000 },
    { what: "long after", writtenMs: NOW_MS - 12_000, countsIntervalMs: 6000, expected: 3000 },
    { what: "after very many", writtenMs: NOW_MS - 48_000, countsIntervalMs: 48_000, expected: 60_000 },
  ])("is $expected $what", ({ expected, writtenMs, countsIntervalMs }) => {
    const history = { writtenMs, countsIntervalMs, awaitsSinceMs: undefined, awaitsPodsSinceMs: undefined };
    expect(nextCountsIntervalMs(history, NOW_MS)).toBe(expected);
  });
});
