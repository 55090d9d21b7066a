// `weir simulate` against a real pod over memory counters, whose clock the test sets: each request of a simulation gets
// the same answer there, for each way to count.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import { findDomain } from "../explain/configured-domain.ts";
import { type Load, simulate } from "./simulate.ts";
import { counterOf, findLimit } from "./simulated-limit.ts";

/** A way to count, and requests that it lets pass in part. */
interface Case {
  readonly key: string;
  readonly limit: string;
  readonly load: Partial<Load>;
  readonly passed: number;
}

const MINUTE_START = Date.parse("2026-01-01T00:00:50Z");
const PER_SECOND = { count: 20, unit: "SECOND" } as const;
const LOAD: Load = { startMs: MINUTE_START, durationMs: 20_000, burst: 0, rate: PER_SECOND, hits: 1 };
const PER_DAY = { count: 20, unit: "DAY" } as const;

const CASES: readonly Case[] = [
  { key: "fixed", limit: "unit: minute, requests_per_unit: 100", load: {}, passed: 200 },
  { key: "multiple", limit: "unit: second, unit_multiplier: 7, requests_per_unit: 50", load: {}, passed: 150 },
  {
    key: "uncounted",
    limit: "unit: second, unit_multiplier: 5, requests_per_unit: 50, count_rejected_hits: false",
    load: { hits: 3 },
    passed: 64,
  },
  {
    key: "calendar",
    limit: "unit: month, requests_per_unit: 100, time_zone: Europe/Zurich",
    load: { startMs: Date.parse("2026-02-25T12:30:00Z"), durationMs: 8 * 86_400_000, rate: PER_DAY, burst: 40 },
    passed: 191,
  },
  {
    key: "sliding",
    limit: "unit: minute, requests_per_unit: 100, algorithm: sliding_window",
    load: { burst: 50 },
    passed: 116,
  },
  {
    key: "sliding-counted",
    limit:
      "unit: second, unit_multiplier: 3, requests_per_unit: 59, algorithm: sliding_window, count_rejected_hits: true",
    load: {},
    passed: 78,
  },
  { key: "bucket", limit: "unit: second, requests_per_unit: 7, algorithm: token_bucket", load: {}, passed: 146 },
  {
    key: "bucket-burst",
    limit: "unit: minute, requests_per_unit: 100, algorithm: token_bucket, burst: 30",
    load: { burst: 100, hits: 2 },
    passed: 31,
  },
];

const LIST = `    rate_limits:
      - {name: burst, unit: second, requests_per_unit: 5}
      - {name: rate, unit: second, unit_multiplier: 10, requests_per_unit: 40, algorithm: sliding_window}
      - {name: bucket, unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 35}
`;

const RULES = `domain: shop
descriptors:
${CASES.map(({ key, limit }) => `  - key: ${key}\n    rate_limit: {${limit}}\n`).join("")}  - key: list
${LIST}`;

/** Makes the time of a process that of a file. */
const CLOCK = `import { readFileSync } from "node:fs";
Date.now = () => Number(readFileSync(process.env.CLOCK_FILE, "utf8"));
`;

let folder: string;
let service: Program;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-simulate-"));
  mkdirSync(join(folder, "config"));
  writeFileSync(join(folder, "config", "shop.yaml"), RULES);
  writeFileSync(join(folder, "clock.mjs"), CLOCK);
  setClock(MINUTE_START);
  service = startSource("ratelimit/src/main.ts", {
    ...Object.fromEntries(["HOST", "GRPC_HOST", "DEBUG_HOST"].map((name) => [name, "127.0.0.1"])),
    ...Object.fromEntries(["PORT", "GRPC_PORT", "DEBUG_PORT"].map((name) => [name, "0"])),
    RUNTIME_ROOT: folder,
    RUNTIME_APPDIRECTORY: "config",
    BACKEND_TYPE: "memory",
    LOG_LEVEL: "INFO",
    NODE_OPTIONS: `--import=${pathToFileURL(join(folder, "clock.mjs")).href}`,
    CLOCK_FILE: join(folder, "clock"),
  });
  const [, address] = await service.find(/Listening for HTTP.*?(127\.0\.0\.1:\d+)/);
  url = `http://${address}/json`;
});

afterAll(async () => {
  await service.end();
  rmSync(folder, { recursive: true });
});

function setClock(nowMs: number): void {
  writeFileSync(join(folder, "clock"), String(nowMs));
}

describe("weir simulate and a pod", () => {
  it.each([...CASES, { key: "list", load: { burst: 10 }, passed: 54 }])(
    "let the same requests pass: $key",
    async ({ key, load, passed }) => {
      const checked = checkFiles([{ path: "shop.yaml", text: RULES }], { mergeDomains: false, skipOtherKinds: false });
      const domain = findDomain(checked, { domain: "shop", fleet: undefined });
      if (typeof domain === "string") throw new Error(domain);
      const requests = { ...LOAD, ...load };
      const found = findLimit(domain, { descriptor: [{ key, value: "x" }], startMs: requests.startMs });
      if (typeof found === "string") throw new Error(found);
      const passes = counterOf(found.rule, requests.hits);
      const simulated: { readonly nowMs: number; readonly passes: boolean }[] = [];
      const result = simulate(requests, (nowMs) => {
        simulated.push({ nowMs, passes: passes(nowMs) });
        return simulated.at(-1)?.passes === true;
      });
      const answered: typeof simulated = [];
      for (const { nowMs } of simulated) answered.push({ nowMs, passes: await ask(key, requests.hits, nowMs) });
      expect(answered).toEqual(simulated);
      expect(result.passed).toBe(passed);
    },
  );
});

async function ask(key: string, hits: number, nowMs: number): Promise<boolean> {
  setClock(nowMs);
  const descriptors = [{ entries: [{ key, value: "x" }], hitsAddend: String(hits) }];
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ domain: "shop", descriptors }) });
  await response.arrayBuffer();
  return response.status === 200;
}
