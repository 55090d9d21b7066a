// Measures the memory backend alone: nanoseconds to count a key that exists, among few and among many
// keys, and to add a new one. `--quick` measures a tenth.
import type { CountBatch, CountedCheck } from "../counter.ts";
import { MemoryCounter } from "./memory-counter.ts";

/** Counts in each of the measured rounds, of which the median is printed. */
const ROUND = process.argv.includes("--quick") ? 100_000 : 1_000_000;
const ROUNDS = 5;

/** Numbers of keys among which one is counted. */
const KEYS = [1, 100_000, 1_000_000];

/** A prime step through the keys, so that no key is near the one before in memory. */
const STEP = 7_368_787;

/** Keys as the decider makes them, in parts, 60 units long. */
class Check implements CountedCheck {
  readonly windowStartSeconds = 1_763_812_800;
  readonly windowSeconds = 3600;
  readonly addend = 1;
  readonly #value: string;
  after = 0;

  constructor(value: string) {
    this.#value = value;
  }

  get key(): string {
    return `benchmark_user_${this.#value}_1763812800`;
  }
}

class Batch implements CountBatch {
  readonly checks: [CountedCheck];
  readonly deadlineMs = undefined;
  pending = 0;

  constructor(check: CountedCheck) {
    this.checks = [check];
  }

  counted(): void {
    this.pending = 0;
  }

  failed(error: Error): never {
    throw error;
  }
}

function value(index: number): string {
  return Buffer.from(`user-${index}@example.com`.padEnd(34, "-")).toString(); // In one piece, as from the wire.
}

/** Nanoseconds per count of `times` keys. */
function measure(counter: MemoryCounter, checks: readonly CountedCheck[], times: number): number {
  const batch = new Batch(new Check(""));
  const began = process.hrtime.bigint();
  for (let index = 0, at = 0; index < times; index++, at = (at + STEP) % checks.length) {
    batch.checks[0] = checks[at] ?? batch.checks[0];
    counter.count(batch);
  }
  return Number(process.hrtime.bigint() - began) / times;
}

function print(...cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(12)).join(" ")}\n`);
}

if (import.meta.main) {
  print("keys", "ns to add", "ns to count");
  for (const keys of KEYS) {
    const checks = Array.from({ length: keys }, (_, index) => new Check(value(index)));
    const counter = new MemoryCounter({ maxKeys: keys });
    const added = measure(counter, checks, keys);
    const rounds = Array.from({ length: ROUNDS }, () => measure(counter, checks, ROUND)).sort((a, b) => a - b);
    print(keys.toLocaleString("en"), added.toFixed(0), (rounds[Math.floor(ROUNDS / 2)] ?? 0).toFixed(0));
  }
}
