// Tests of readCounts() of the decider: which counters are read, and that nothing else is touched.
import { configuration, descriptor, entries, limit, unlimited } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { StoreError } from "../counters/store-error.ts";
import { DeciderFixture, type DeciderFixtureOptions, ReplyingCounter } from "./decider.suite.ts";

const RULES = configuration("shop", [
  descriptor({ key: "user", rateLimit: limit(5, "minute"), detailedMetric: true }),
  descriptor({ key: "path", rateLimit: limit(9, "hour", { replaces: [{ name: "plan" }] }) }),
  descriptor({ key: "plan", rateLimit: limit(3, "day", { name: "plan" }) }),
  descriptor({ key: "free", rateLimit: unlimited() }),
  descriptor({ key: "month", rateLimit: limit(7, "month", { timeZone: "UTC" }) }),
  descriptor({ key: "pool", value: "a*", rateLimit: limit(4, "minute"), shareThreshold: true }),
  descriptor({
    key: "several",
    rateLimits: [
      limit(2, "second", { name: "short" }),
      limit(6, "minute", { name: "long", algorithm: "token_bucket" }),
    ],
  }),
]);

/** 40 s into a minute, 20 min into an hour. */
const NOW_SECONDS = 1_799_996_400 + 1200 + 40;

function open(options: Partial<DeciderFixtureOptions> = {}): DeciderFixture {
  return new DeciderFixture({
    ...{ configs: [RULES], counter: new MemoryCounter({ maxKeys: 10 }), nowSeconds: NOW_SECONDS },
    ...options,
  });
}

async function read({ decider }: DeciderFixture, ...texts: readonly string[]) {
  return await decider.readCounts({
    domain: "shop",
    descriptors: texts.map((text) => entries(text)),
    deadlineMs: Infinity,
  });
}

describe("readCounts()", () => {
  it("reads a counter that calls have counted in, over the limit, and of no other value", async () => {
    const fixture = open();
    fixture.decide({ domain: "shop", descriptors: [{ entries: entries("user=ada") }], hitsAddend: 7 });
    const fields = { capacity: 5, resetSeconds: 20 };
    expect(await read(fixture, "user=ada", "user=bob")).toMatchObject([
      { path: "shop.user", limits: [{ ...fields, hits: 7, remaining: 0, retrySeconds: 20 }] },
      { path: "shop.user", limits: [{ ...fields, hits: 0, remaining: 5, retrySeconds: 0 }] },
    ]);
  });

  it.each([
    { descriptor: "unknown=x", path: undefined },
    { descriptor: "free=x", path: "shop.free" },
  ])("reads nothing of $descriptor", async ({ descriptor: text, path }) => {
    expect(await read(open({ counter: new ReplyingCounter([]) }), text)).toEqual([{ path, limits: [] }]);
  });

  it("reads nothing of a rule that the rule of another descriptor replaces", async () => {
    expect(await read(open(), "plan=gold", "path=/")).toMatchObject([
      { path: "shop.plan", limits: [] },
      { path: "shop.path", limits: [{ capacity: 9 }] },
    ]);
  });

  it("reads the one counter of values that share it, and each of several limits", async () => {
    const fixture = open();
    const descriptors = ["pool=a1", "several=x"].map((text) => ({ entries: entries(text) }));
    fixture.decide({ domain: "shop", descriptors, hitsAddend: 1 });
    const [pool, several] = await read(fixture, "pool=a2", "several=x");
    expect(pool?.limits).toMatchObject([{ hits: 1, remaining: 3 }]);
    expect(several?.limits).toMatchObject([
      { limit: { name: "short" }, hits: 1, remaining: 1, resetSeconds: 1 },
      { limit: { name: "long" }, hits: 1, remaining: 5, resetSeconds: 10 },
    ]);
  });

  it("knows the end of a month of the calendar", async () => {
    const endSeconds = Date.UTC(2027, 1, 1) / 1000;
    expect(await read(open(), "month=x")).toMatchObject([{ limits: [{ resetSeconds: endSeconds - NOW_SECONDS }] }]);
  });

  it("counts no statistics and makes none of the values", async () => {
    const fixture = open();
    await read(fixture, "user=ada", "pool=a1");
    const prefixes: string[] = [];
    const unused = () => undefined;
    const rule = ({ prefix }: { readonly prefix: string }): void => void prefixes.push(prefix);
    fixture.store.walk({ counter: unused, rule, gauge: unused, timer: unused }).toArray();
    expect(fixture.counted()).toEqual({});
    expect(prefixes.filter((prefix) => /ada|a1/.test(prefix))).toEqual([]);
    expect(prefixes).toContain("ratelimit.service.rate_limit.shop.user");
  });

  it.each([
    { what: "no rules", options: { configs: undefined }, message: "no rate limit configuration loaded" },
    { what: "no such domain", options: { configs: [] }, message: "no rules for the domain shop" },
    {
      what: "a store that is away",
      options: { counter: new ReplyingCounter([new StoreError("STORE_UNAVAILABLE", "it is away")]) },
      message: "it is away",
    },
  ])("fails with $what", async ({ options, message }) => {
    await expect(read(open(options), "user=ada")).rejects.toThrow(message);
  });
});
