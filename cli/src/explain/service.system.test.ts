// `weir explain` against the rate limit service: random rules in a real service, random requests,
// and the keys that it writes to a real counter store.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { rulesOfModel } from "@weir/crds/rate-limit-config/translate/convert";
import { type DescriptorModel, limitsOf, type RateLimitConfigModel } from "@weir/limits/model/model";
import { type ExplainedDescriptor, explainRequest } from "@weir/limits/explain/explain";
import { validConfig } from "@weir/limits/model/valid-config.suite";
import type { Entry } from "@weir/limits/rules/rule";
import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import type { InputFile } from "../check/input-files.ts";
import { findDomain } from "./configured-domain.ts";

const SEED = 11;
const DOMAINS = 40;
const REQUESTS = 200;
const PREFIX = "blue:";

const models = fc
  .sample(validConfig, { numRuns: DOMAINS, seed: SEED })
  .map((model, index): RateLimitConfigModel => ({ ...model, name: `d${index}`, domain: `d${index}` }));
const files: readonly InputFile[] = models.map((model) => ({
  path: `${model.domain}.yaml`,
  text: rulesOfModel(model),
}));
const checked = checkFiles(files, { mergeDomains: false, skipOtherKinds: false });

let folder: string;
let store: StoreServer;
let service: Program;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-explain-"));
  mkdirSync(join(folder, "config"));
  for (const file of files) if ("text" in file) writeFileSync(join(folder, "config", file.path), file.text);
  store = await startRedis(folder);
  const env = {
    ...Object.fromEntries(["HOST", "GRPC_HOST", "DEBUG_HOST"].map((name) => [name, "127.0.0.1"])),
    ...Object.fromEntries(["PORT", "GRPC_PORT", "DEBUG_PORT"].map((name) => [name, "0"])),
    RUNTIME_ROOT: folder,
    RUNTIME_APPDIRECTORY: "config",
    KVSTORE_SOCKET_TYPE: "tcp",
    KVSTORE_URL: store.address,
    CACHE_KEY_PREFIX: PREFIX,
    LOG_LEVEL: "INFO",
  };
  service = startSource("ratelimit/src/main.ts", env);
  const [, address] = await service.find(/Listening for HTTP.*?(127\.0\.0\.1:\d+)/);
  url = `http://${address}/json`;
});

afterAll(async () => {
  await service.end();
  await store.stop();
  rmSync(folder, { recursive: true });
});

/** The lines that the counter store answers. */
function redis(...command: readonly string[]): readonly string[] {
  const { stdout } = spawnSync("redis-cli", ["-p", String(store.port), "--raw", ...command], { encoding: "utf8" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** The service's status of a descriptor; the limit is absent where none applies. */
interface Status {
  readonly currentLimit?: {
    readonly name?: string;
    readonly requestsPerUnit?: number;
    readonly unit: string;
    readonly unitMultiplier?: number;
  };
}

async function ask(domain: string, descriptors: readonly (readonly Entry[])[]): Promise<readonly Status[]> {
  const body = JSON.stringify({ domain, descriptors: descriptors.map((entries) => ({ entries })) });
  const response = await fetch(url, { method: "POST", body });
  return ((await response.json()) as { readonly statuses: readonly Status[] }).statuses;
}

/**
 * A request's descriptor that goes down the rules, ends at a limit as a rule, and now and then goes
 * astray.
 */
function entriesAlong(rules: readonly DescriptorModel[], picks: readonly number[]): readonly Entry[] {
  const entries: Entry[] = [];
  let level = rules;
  for (const pick of picks) {
    const rule = level[pick % level.length];
    if (rule === undefined) break;
    const value = rule.value === "" ? `any${pick % 3}` : rule.value.replaceAll("*", `x${pick % 2}`);
    entries.push({ key: rule.key.replaceAll("*", "x"), value });
    level = rule.descriptors;
    if (limitsOf(rule).length > 0 && pick % 5 !== 0) break;
  }
  return entries.length === 0 ? [{ key: "a", value: "b" }] : entries;
}

const randomRequest = fc.record({
  domain: fc.nat(DOMAINS - 1),
  ways: fc.array(fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
});

function counters(explained: readonly ExplainedDescriptor[]): readonly string[] {
  return [...new Set(explained.flatMap(({ counter }) => counter?.key ?? []))].toSorted();
}

/** Keys that a rejected call does not write: those of limits of 0 that do not count rejected hits. */
function unwritten(explained: readonly ExplainedDescriptor[]): ReadonlySet<string> {
  const found = explained.filter(
    ({ match }) =>
      match?.rule.cell?.countsRejected === false && match.rule.cell.limits.some(({ capacity }) => capacity === 0),
  );
  return new Set(counters(found));
}

/** The limits that an answer may name, as the service writes them: of several any. */
function limitsIn({ match, replacedBy, taken }: ExplainedDescriptor): readonly unknown[] {
  const leaf = taken.at(-1);
  if (match === undefined || match.rule.unlimited || replacedBy !== undefined || leaf === undefined) return [undefined];
  return limitsOf(leaf).map(({ name, requestsPerUnit, unit, unitMultiplier = 1, timeZone }) => ({
    ...(name === "" ? {} : { name }),
    ...(requestsPerUnit === 0 ? {} : { requestsPerUnit }),
    unit: unit.toUpperCase(),
    // Windows of the calendar are answered by their unit.
    ...(unitMultiplier !== 1 && timeZone === undefined && { unitMultiplier }),
  }));
}

describe("weir explain and the rate limit service", () => {
  it(`agree about limits and counters of ${REQUESTS} random requests`, async () => {
    const seen = { limits: 0, counters: 0, replaced: 0 };
    for (const { domain: index, ways } of fc.sample(randomRequest, { numRuns: REQUESTS, seed: SEED })) {
      const model = models[index];
      if (model === undefined) throw new Error("There is no such domain");
      const domain = findDomain(checked, { domain: model.domain, fleet: undefined });
      if (typeof domain === "string") throw new Error(domain);
      const descriptors = ways.map((picks) => entriesAlong(model.descriptors, picks));
      const explain = (): readonly ExplainedDescriptor[] =>
        explainRequest(domain.domain, domain.rules, { descriptors, atMs: Date.now(), keyPrefix: PREFIX });
      let [before, after]: [readonly string[], readonly string[]] = [[], ["not asked yet"]];
      let [statuses, keys, explained]: [readonly Status[], readonly string[], readonly ExplainedDescriptor[]] = [
        [],
        [],
        [],
      ];
      // Once more when a window has ended meanwhile: the key of a second may be that of the next
      // one, or gone already.
      while (JSON.stringify(before) !== JSON.stringify(after)) {
        redis("FLUSHALL");
        before = counters(explain());
        statuses = await ask(model.domain, descriptors);
        keys = redis("KEYS", "*").toSorted();
        explained = explain();
        after = counters(explained);
      }
      const absent = unwritten(explained);
      expect(keys, JSON.stringify({ domain: model.domain, descriptors })).toEqual(
        after.filter((key) => !absent.has(key) || keys.includes(key)),
      );
      for (const [position, { currentLimit }] of statuses.entries())
        expect(limitsIn(explained[position]!)).toContainEqual(currentLimit);
      seen.limits += statuses.filter(({ currentLimit }) => currentLimit !== undefined).length;
      seen.counters += keys.length;
      seen.replaced += explained.filter(({ replacedBy }) => replacedBy !== undefined).length;
    }
    expect(seen.limits).toBeGreaterThan(80);
    expect(seen.counters).toBeGreaterThan(50);
    expect(seen.replaced).toBeGreaterThan(5);
  });
});
