// The flows from end to end, over every kind of store: the real program with real stores, asked as
// a proxy asks it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { BACKENDS } from "./backends.ts";
import { FLOW_RULES } from "./flow-rules.ts";
import {
  type Answer,
  type RateLimitService,
  type Status,
  startRateLimitService,
} from "@weir/harness/weir/rate-limit-service";

/** The start of the name of a rule's statistics. */
const RULES = "ratelimit.service.rate_limit";

/** How often a flow may begin again because its window ended in the middle of it. */
const ATTEMPTS_MAX = 20;

describe.each(BACKENDS)("the rate limit service over $name (case 200)", (backend) => {
  const folder = makeTemporaryFolder();
  const stops: (() => Promise<unknown>)[] = [];
  let service: RateLimitService;
  let fresh = 0;

  beforeAll(async () => {
    const store = await backend.start(folder.path);
    stops.push(() => store.stop());
    service = await startRateLimitService(folder.path, FLOW_RULES, { ...store.env, RESPONSE_DYNAMIC_METADATA: "true" });
    stops.push(() => service.stop());
  });

  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
    folder.remove();
  });

  /**
   * Asks about one descriptor per pair, each with its own hits where they are given, and waits
   * until all is counted.
   */
  async function ask(domain: string, entries: Readonly<Record<string, string>>, hits?: number): Promise<Answer> {
    const questions = Object.entries(entries).map(([key, value]) => ({
      entries: { [key]: value },
      ...(hits !== undefined && { hits }),
    }));
    const answer = await service.ask(domain, ...questions);
    if (backend.countsLater) await allCounted(service);
    return answer;
  }

  async function codes(count: number, domain: string, entries: Readonly<Record<string, string>>): Promise<string> {
    let text = "";
    for (let call = 0; call < count; call++) text += (await ask(domain, entries)).code === "OK" ? "." : "x";
    return text;
  }

  /**
   * Runs a flow with a value that no other flow uses, again if a window of `seconds` ended
   * meanwhile.
   */
  async function withinWindow<T>(seconds: number, flow: (value: string) => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (seconds === 1) await nextSecond(); // All of it is wanted.
      const began = Math.floor(Date.now() / 1000 / seconds);
      const result = await flow(`value-${++fresh}`);
      if (Math.floor(Date.now() / 1000 / seconds) === began) return result;
    }
    throw new Error(`No flow of ${ATTEMPTS_MAX} was done within a window of ${seconds} s`);
  }

  it("case 193: a descriptor of an unknown domain is OK and has no limit", async () => {
    const { code, statuses } = await ask("foo", { key: "value" });
    expect({ code, statuses }).toEqual({
      code: "OK",
      statuses: [{ code: "OK", remaining: 0, limit: undefined, resetSeconds: undefined }],
    });
    expect(await service.statistic(`${RULES}.foo.domain_not_found`)).toBe(1);
  });

  it("case 194: the first hit of 50 per second leaves 49 and is counted", async () => {
    const hits = `${RULES}.basic.key1.total_hits`;
    const before = await service.statistic(hits);
    const { code, statuses } = await ask("basic", { key1: `foo-${++fresh}` });
    expect({ code, statuses }).toEqual({
      code: "OK",
      statuses: [{ code: "OK", remaining: 49, limit: "50 per SECOND", resetSeconds: 1 }],
    });
    expect(await service.statistic(hits)).toBe(before + 1);
  });

  it("case 195: 20 of 25 calls pass, the others count as over, and with a local cache only the first of these asks the store", async () => {
    const rule = `${RULES}.another.key2`;
    const { remaining, over, local } = await withinWindow(60, async (value) => {
      const [overBefore, localBefore] = await statisticsOf(`${rule}.over_limit`, `${rule}.over_limit_with_local_cache`);
      const found = { remaining: [] as string[], over: [] as number[], local: [] as number[] };
      for (let call = 1; call <= 25; call++) {
        const { code, statuses } = await ask("another", { key2: value });
        found.remaining.push(`${code} ${statuses[0]?.remaining}`);
        const [overNow, localNow] = await statisticsOf(`${rule}.over_limit`, `${rule}.over_limit_with_local_cache`);
        if (call > 20) found.over.push(overNow - overBefore);
        if (call > 20) found.local.push(localNow - localBefore);
      }
      return found;
    });
    const lefts = [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    expect(remaining).toEqual([
      ...lefts.map((left) => `OK ${left}`),
      ...Array.from({ length: 5 }, () => "OVER_LIMIT 0"),
    ]);
    expect(over).toEqual([1, 2, 3, 4, 5]);
    expect(local).toEqual(backend.hasLocalCache ? [0, 1, 2, 3, 4] : [0, 0, 0, 0, 0]);
  });

  it("case 196: two limits in one call, of which one continues counting when the other is over, unless that stops it", async () => {
    const answers = await withinWindow(3600, async (hourly) =>
      withinWindow(60, async (value) => {
        const found: Answer[] = [];
        for (let call = 0; call < 15; call++)
          found.push(await ask("another", { key2: `${hourly}-${value}`, key3: `${hourly}-${value}` }));
        return found;
      }),
    );
    expect(answers.map(({ code }) => (code === "OK" ? "." : "x")).join("")).toBe("..........xxxxx");
    expect(answers.slice(10).map(({ statuses }) => statusText(statuses))).toEqual(
      (backend.stopsOthers ? [10, 10, 10, 10, 10] : [9, 8, 7, 6, 5]).map((left) => `OK ${left}, OVER_LIMIT 0`),
    );
  });

  it("case 197: the time until reset of a key per day grows less", async () => {
    const first = await withinWindow(86_400, (value) => ask("basic", { one_per_day: value }).then(resetOf));
    await eventually("the time until reset to be two seconds less", async () => {
      const later = resetOf(await ask("basic", { one_per_day: "later" }));
      const passed = (first - later + 86_400) % 86_400; // A day may have ended.
      if (passed < 2) throw new Error(`it is ${later} s after ${first} s`);
    });
  });

  it("case 199: values share a threshold where the rule says so, and otherwise have their own", async () => {
    const counted = async (key: string): Promise<string[]> =>
      withinWindow(3600, async (value) => {
        const found: string[] = [];
        const suffixes = [...Array.from({ length: 10 }, () => "a.pdf"), "b.csv"];
        for (const suffix of suffixes)
          found.push(
            statusText((await ask("values", { [key]: `files/${key === "shared" ? "" : value}${suffix}` })).statuses),
          );
        return found;
      });
    const tenDown = ["OK 9", "OK 8", "OK 7", "OK 6", "OK 5", "OK 4", "OK 3", "OK 2", "OK 1", "OK 0"];
    await endIsFar(3600);
    expect(await counted("shared")).toEqual([...tenDown, "OVER_LIMIT 0"]);
    expect(await counted("separate")).toEqual([...tenDown, "OK 9"]);
  });

  it("case 203: a wildcard is limited at the fourth request, a value in shadow mode never", async () => {
    expect(await withinWindow(60, (value) => codes(4, "values", { foo: value }))).toBe("...x");
    expect(await codes(1, "values", { baz: "another" })).toBe(".");
    expect(await codes(5, "values", { baz: "shady" })).toBe(".....");
    await endIsFar(60);
    expect(await codes(4, "values", { baz: "not-so-shady" })).toBe("...x");
  });

  it("case 204: a value with a detailed metric is limited at the third request and counted under its name", async () => {
    const { value, passed } = await withinWindow(60, async (each) => ({
      value: each,
      passed: await codes(3, "values", { unspec: each }),
    }));
    expect(passed).toBe("..x");
    expect(await service.statistic(`${RULES}.values.unspec_${value}.over_limit`)).toBe(1);
    expect(await service.statistic(`${RULES}.values.unspec_${value}.total_hits`)).toBe(3);
  });

  it("case 205: a replaced limit does not count, alone it does, and one rule replaces two", async () => {
    expect(await codes(1, "replaces", { banned: "alone" })).toBe("x");
    expect(await withinWindow(60, (value) => codes(3, "replaces", { banned: value, pardoned: value }))).toBe("..x");
    const kept = await withinWindow(3600, async (value) => ({
      replaced: await codes(3, "replaces", { one: value, two: value }),
      untouched: await codes(2, "replaces", { one: value }),
      bothReplaced: await codes(4, "replaces", { banned: value, one: value, both: value }),
    }));
    expect(kept).toEqual({ replaced: "..x", untouched: ".x", bothReplaced: "...x" });
  });

  it("case 206: a call passes while one of its quotas has something left, and again in the next window", async () => {
    const found: string[] = [];
    await withinWindow(60, async (value) => {
      found.length = 0;
      for (let call = 0; call < 3; call++) {
        const { code, statuses } = await ask("quotas", { slow_1: value, slow_2: value });
        found.push(`${code}: ${statusText(statuses)}`);
      }
    });
    // If one that is over stops the others, the second quota is never used up: both are of one
    // call.
    const usedUp = backend.stopsOthers
      ? ["OK: OVER_LIMIT 0, OK 1", "OK: OVER_LIMIT 0, OK 1"]
      : ["OK: OVER_LIMIT 0, OK 0", "OVER_LIMIT: OVER_LIMIT 0, OVER_LIMIT 0"];
    expect(found).toEqual(["OK: OK 0, OK 1", ...usedUp]);
    const { used, value: again } = await withinWindow(1, async (value) => ({
      value,
      used: await codes(3, "quotas", { quick_1: value, quick_2: value }),
    }));
    expect(used).toBe(backend.stopsOthers ? "..." : "..x");
    await eventually("the next window", async () => {
      expect((await ask("quotas", { quick_1: again, quick_2: again })).statuses[0]?.code).toBe("OK");
    });
  });

  it("case 207: tokens are checked before and counted after, so the request that goes beyond the limit is the last to pass", async () => {
    const passed = await withinWindow(60, async (value) => {
      let served = 0;
      while ((await ask("tokens", { tokens: value }, 0)).code === "OK" && served < 9) {
        served += 1;
        await ask("tokens", { tokens: value }, 1);
      }
      return served;
    });
    expect(passed).toBe(3);
  });

  it("case 208: the metadata names the first service that has tokens left", async () => {
    const served = await withinWindow(60, async (value) => {
      const found: unknown[] = [];
      for (let call = 0; call < 9; call++) {
        const check = await ask("tokens", { service_1: value, service_2: value }, 0);
        if (check.code === "OVER_LIMIT") break;
        const name = (check.metadata["metadata"] as { readonly name: string }).name;
        found.push(name);
        await ask("tokens", { [name]: value }, 1);
      }
      return found;
    });
    expect(served).toEqual(["service_1", "service_1", "service_2", "service_2", "service_2"]);
  });

  async function statisticsOf(first: string, second: string): Promise<readonly [number, number]> {
    const all = await service.statistics();
    return [Number(all[first]), Number(all[second])];
  }
});

/**
 * Waits until memcached has received every hit: each key that was read is then incremented, or
 * added when it was not there.
 */
async function allCounted(service: RateLimitService): Promise<void> {
  await eventually("memcached to have counted", async () => {
    const all = await service.statistics();
    const sum = (...names: readonly string[]): number =>
      names.reduce((total, name) => total + Number(all[`ratelimit.memcache.${name}`] ?? 0), 0);
    const asked = sum("keys_requested");
    const counted = sum("increment.__code=success", "add.__code=success");
    if (counted < asked) throw new Error(`it has counted ${counted} of ${asked}`);
  });
}

/** Waits until a second begins. */
async function nextSecond(): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  await eventually("the next second", () => {
    if (Math.floor(Date.now() / 1000) === now) throw new Error("it has not begun");
  });
}

/**
 * Waits until a window of so many seconds has some left: for what has one name only and cannot be
 * tried again with another.
 */
async function endIsFar(seconds: number): Promise<void> {
  await eventually("the next window", () => {
    if (seconds - (Math.floor(Date.now() / 1000) % seconds) < 10) throw new Error("the window is nearly over");
  });
}

function statusText(statuses: readonly Status[]): string {
  return statuses.map(({ code, remaining }) => `${code} ${remaining}`).join(", ");
}

function resetOf({ statuses }: Answer): number {
  const seconds = statuses[0]?.resetSeconds;
  if (seconds === undefined) throw new Error("There is no time until reset");
  return seconds;
}
