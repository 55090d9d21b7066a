// The rate limit service under each known attack on HTTP/2: another client is served, memory is
// bounded and comes back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { toolsFolder } from "@weir/harness/processes/tools";
import { ATTACKS, type Attack } from "@weir/http2/attacks/attacks.suite";
import { residentMebibytes } from "../benchmarks/cpu-time.ts";
import { buildGenerator, type GeneratorReport, runGenerator } from "../benchmarks/decisions/generator.ts";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import { INSPECTED, inspectorUrlOf, type InspectedHeap, openInspectedHeap } from "../soak/inspected-heap.suite.ts";

/** The calls of the good client: a hundred a second during each attack, all of which must be answered with OK. */
const GOOD_CALLS = "--rate 100 --connections 1 --warm-up 0 --seconds 2.5 --domain attacks --entry user=alice";

/** Time between two looks at the memory of the service, in milliseconds. */
const LOOK_MS = 10;

/**
 * Bounds: of nine in ten answers to the good client in milliseconds (a machine may stand still for one in
 * ten; an attack that works delays all), and of memory in MiB. Memory that is left is in the heap, or it is pages that
 * V8 keeps for the next attack: 25 to 65 MiB after the first one that makes the heap grow, and less after the others.
 */
const P90_MAX_MS = 500;
const RSS_GROWTH_MAX = 100;
const RSS_LEFT_MAX = 75;
const HEAP_LEFT_MAX = 8;

const RULES = `domain: attacks
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 4000000000}}
`;

const folder = makeTemporaryFolder();
let service: RateLimitService;
let generator: string;
let heap: InspectedHeap;
let atRest: { readonly heap: number };

beforeAll(async () => {
  generator = await buildGenerator(toolsFolder());
  const env = { BACKEND_TYPE: "memory", LOG_LEVEL: "warn", ...INSPECTED };
  service = await startRateLimitService(folder.path, { "rules.yaml": RULES }, env);
  const url = service.lines.map(inspectorUrlOf).find((each) => each !== undefined);
  heap = await openInspectedHeap(url ?? "", service.process.pid);
  // The heap takes the size that load gives it, and the code is compiled.
  await during(
    ATTACKS.find(({ name }) => name === "correct calls as fast as possible")!,
    () => undefined,
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
    const { p90Micros } = await during(attack, () => (peak = Math.max(peak, residentMebibytes(pid))));
    expect(p90Micros / 1000).toBeLessThan(P90_MAX_MS);
    expect(peak - before).toBeLessThan(RSS_GROWTH_MAX);
    await eventually("the memory to come back", async () => {
      const now = await heap.look();
      expect(now.heap - atRest.heap).toBeLessThan(HEAP_LEFT_MAX);
      expect(now.resident - before).toBeLessThan(RSS_LEFT_MAX);
    });
  });
});

/** Returns the report of the good client during the attack; calls `look` every LOOK_MS meanwhile. */
async function during(attack: Attack, look: () => void): Promise<GeneratorReport> {
  const program = join(ROOT, "http2", "src", "attacks", "attacker.suite.ts");
  const args = ["--conditions=source", program, attack.name, String(service.grpcPort)];
  const attacker = spawn(process.execPath, args, { stdio: "inherit" });
  const timer = setInterval(look, LOOK_MS);
  try {
    return await runGenerator([generator], [...GOOD_CALLS.split(" "), "--port", String(service.grpcPort)], attack.name);
  } finally {
    clearInterval(timer);
    const gone = once(attacker, "exit");
    attacker.kill("SIGKILL");
    await gone;
  }
}
