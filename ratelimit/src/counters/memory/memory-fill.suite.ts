// A program for the test of what the memory backend takes: counts a million new keys as a busy service does,
// some in each event-loop turn, and prints what it took. With the argument "bucket" in cells.
import { setImmediate } from "node:timers/promises";

import type { CellState } from "@weir/limits/cell/cell";

import { bucketRule } from "../cells.suite.ts";
import type { CountBatch, CountedCheck } from "../counter.ts";
import { MemoryCounter } from "./memory-counter.ts";

/** The report that the program prints, as JSON. */
export interface FillReport {
  /** Growth of the resident memory by the counters, in bytes. */
  readonly rssBytes: number;
  /**
   * The longest turn of the event loop in which no other process took the processor, in
   * milliseconds of its thread.
   */
  readonly longestTurnMs: number;
  /** The number of turns, and of those in which another process did: their lengths show nothing. */
  readonly turns: number;
  readonly interruptedTurns: number;
  /** The sum of all counts: each key has its own. */
  readonly total: number;
}

const KEYS = 1_000_000;
const KEYS_PER_TURN = 64;

const WINDOW_SECONDS = 3600;
const NOW_SECONDS = 1_763_812_800;
const BUCKET = bucketRule(100, WINDOW_SECONDS);
const isBucket = process.argv[2] === "bucket";

/** A call with one check, of another key each time. */
class FillCall implements CountBatch {
  readonly checks: CountedCheck[] = [];
  readonly deadlineMs = undefined;
  pending = 0;
  total = 0;

  counted(): void {
    this.total += this.checks[0]?.after ?? 0;
  }

  failed(error: Error): never {
    throw error;
  }
}

/** The check of a key of 60 characters, which is in several pieces as the decider's keys are. */
function fillCheck(index: number): CountedCheck {
  const value = `user-${index}@example.com`.padEnd(37, "-");
  const check: CountedCheck = {
    key: `domain_user_${value}_${NOW_SECONDS}`,
    windowStartSeconds: NOW_SECONDS,
    windowSeconds: WINDOW_SECONDS,
    addend: 1,
    after: 0,
  };
  if (!isBucket) return check;
  const settle = (_passes: boolean, [, hits = 0]: CellState): void => void (check.after = hits);
  return Object.assign(check, { cell: { rule: BUCKET, nowMs: NOW_SECONDS * 1000, settle } });
}

async function fill(counter: MemoryCounter, keys: number): Promise<Omit<FillReport, "rssBytes">> {
  const call = new FillCall();
  let [longestTurnMs, interruptedTurns] = [0, 0];
  let began = now();
  for (let index = 0; index < keys; index++) {
    call.checks[0] = fillCheck(index);
    counter.count(call);
    if (index % KEYS_PER_TURN !== 0) continue;
    await setImmediate();
    const ended = now();
    if (ended.interruptions !== began.interruptions) interruptedTurns += 1;
    else longestTurnMs = Math.max(longestTurnMs, Math.min(ended.ms - began.ms, ended.cpuMs - began.cpuMs));
    began = ended;
  }
  return { longestTurnMs, turns: Math.ceil(keys / KEYS_PER_TURN), interruptedTurns, total: call.total };
}

/**
 * The clock, and the time of this thread on a processor: the kernel adds to that at its ticks,
 * milliseconds apart, so a turn takes at most the smaller of the two.
 */
function now(): { readonly ms: number; readonly cpuMs: number; readonly interruptions: number } {
  const { user, system } = process.threadCpuUsage();
  const { involuntaryContextSwitches } = process.resourceUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1000, interruptions: involuntaryContextSwitches };
}

/** Resident memory without garbage. */
async function settledRss(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await setImmediate();
  }
  return process.memoryUsage.rss();
}

if (import.meta.main) {
  await fill(new MemoryCounter({ maxKeys: KEYS }), KEYS / 20); // So that the code is compiled.
  const counter = new MemoryCounter({ maxKeys: KEYS });
  const before = await settledRss();
  const filled = await fill(counter, KEYS);
  const rssBytes = (await settledRss()) - before;
  const again = await fill(counter, KEYS);
  process.stdout.write(JSON.stringify({ rssBytes, ...filled, total: filled.total + again.total } satisfies FillReport));
}
