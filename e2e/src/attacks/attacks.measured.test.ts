// The rate limit service under each known attack on HTTP/2: another client is served, memory is
// bounded and comes back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { ATTACKS, type Attack } from "@weir/http2/attacks/attacks.suite";
import { residentMebibytes } from "../benchmarks/cpu-time.ts";
import { type RateLimitService, startRateLimitService } from "../conformance/rate-limit-service.ts";
import { INSPECTED, inspectorUrlOf, type InspectedHeap, openInspectedHeap } from "../soak/inspected-heap.suite.ts";

/** How long each attack lasts at least, in milliseconds, and the calls of the good client meanwhile. */
const ATTACK_MS = 2500;
const CALLS_MIN = 100;

/**
 * Bounds: of nine in ten answers to the good client in milliseconds (a machine may stand still for one in
 * ten; an attack that works delays all), and of memory in MiB. What is left is in the heap, or it is pages that V8 keeps
 * for the next attack: 25 to 65 MiB after the first one that makes the heap grow, and less after the others.
 */
const P90_MAX_MS = 500;
const RSS_GROWTH_MAX = 100;
const RSS_LEFT_MAX = 75;
const HEAP_LEFT_MAX = 8;

/** Time between two calls, in milliseconds. */
const INTERVAL_MS = 10;

/** Longest wait for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

const RULES = `domain: attacks
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 4000000000}}
`;

const folder = makeTemporaryFolder();
let service: RateLimitService;
let heap: InspectedHeap;
let atRest: { readonly heap: number };

beforeAll(async () => {
  const env = { BACKEND_TYPE: "memory", LOG_LEVEL: "warn", ...INSPECTED };
  service = await startRateLimitService(folder.path, { "rules.yaml": RULES }, env);
  const url = service.lines.map(inspectorUrlOf).find((each) => each !== undefined);
  heap = await openInspectedHeap(url ?? "", service.process.pid);
  // The heap takes the size that load gives it, and the code is compiled.
  await during(
    ATTACKS.find(({ name }) => name === "correct calls as fast as possible")!,
    async () => {
      await measureAnswers(service, after(ATTACK_MS, CALLS_MIN), () => undefined);
    },
  );
  atRest = await heap.look();
});

afterAll(async () => {
  heap.close();
  service.disconnect();
  const { code } = await service.stop();
  folder.remove();
  expect(code).toBe(0);
});

describe("weir-ratelimit under attack", () => {
  it.each(ATTACKS)("serves others and bounds its memory: $name", async (attack) => {
    const { pid } = service.process;
    const before = residentMebibytes(pid);
    let peak = 0;
    const times = await during(attack, () =>
      measureAnswers(service, after(ATTACK_MS, CALLS_MIN), () => (peak = Math.max(peak, residentMebibytes(pid)))),
    );
    expect(times[Math.floor(times.length * 0.9)]).toBeLessThan(P90_MAX_MS);
    expect(peak - before).toBeLessThan(RSS_GROWTH_MAX);
    await eventually("the memory to come back", async () => {
      const now = await heap.look();
      expect(now.heap - atRest.heap).toBeLessThan(HEAP_LEFT_MAX);
      expect(now.resident - before).toBeLessThan(RSS_LEFT_MAX);
    });
  });
});

/** Runs `measure` during the attack. */
async function during<T>(attack: Attack, measure: () => Promise<T>): Promise<T> {
  const program = join(ROOT, "http2", "src", "attacks", "attacker.suite.ts");
  const args = ["--conditions=source", program, attack.name, String(service.grpcPort)];
  const attacker = spawn(process.execPath, args, { stdio: "inherit" });
  try {
    return await measure();
  } finally {
    const gone = once(attacker, "exit");
    attacker.kill("SIGKILL");
    await gone;
  }
}

/** Whether so much time has passed since this call, and it was asked so often. */
function after(durationMs: number, questions: number): () => boolean {
  const endMs = performance.now() + durationMs;
  let asked = 0;
  return () => {
    asked += 1;
    return performance.now() > endMs && asked > questions;
  };
}

/** Calls the service, and `onCall` after each call, until `isOver`; returns the times in milliseconds, in order of size. */
async function measureAnswers(
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
