import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { parseRuleFile } from "@weir/limits/rule-file/rule-file";
import { Health } from "../../health/health.ts";
import { compileRules, type RuleSet } from "@weir/limits/rules/compile";
import { attachKeys } from "@weir/limits/rules/configuration.suite";
import { ServiceStatistics } from "../../statistics/service-statistics.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { DebugListener } from "./debug-listener.ts";

const RULES = `domain: foo
descriptors:
  - {key: k1, value: v1, shadow_mode: true, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: k2, rate_limit: {unlimited: true}}
`;

describe("DebugListener", () => {
  let store: StatisticsStore;
  let health: Health;
  let rules: Pick<RuleSet<unknown>, "dump"> | undefined;
  let listener: DebugListener;

  beforeEach(async () => {
    store = new StatisticsStore({ maxDynamicKeys: 10 });
    health = new Health({ withConfig: false, withActiveConnection: false });
    rules = undefined;
    const deps = {
      rules: () => rules,
      statistics: store,
      extraTags: new Map<string, string>(),
      health,
      log: silentLog(),
    };
    listener = new DebugListener(deps, { host: "127.0.0.1", port: 0, profiling: { forEveryone: false } });
    await listener.start();
  });

  afterEach(() => listener.stop());

  async function get(path: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${listener.address()?.port ?? 0}${path}`);
    return `${response.status} ${await response.text()}`;
  }

  it.each(["/", "/nothing"])("%s lists every path with its help, sorted (case 178)", async (path) => {
    expect(await get(path)).toBe(
      "200 /debug/pprof/: root of various pprof endpoints. hit for help.\n" +
        "/debug/pprof/heap: heap profile for go tool pprof\n" +
        "/debug/pprof/profile: CPU profile of ?seconds=30 for go tool pprof\n" +
        "/healthcheck: OK, or status 500 while the service is not healthy\n" +
        "/rlconfig: print out the currently loaded configuration for debugging\n" +
        "/stats: print out stats, one per line; /stats?format=json as JSON\n",
    );
  });

  it("/rlconfig is empty before the first configuration, then has a line per rule (cases 178, 189, 190)", async () => {
    expect(await get("/rlconfig")).toBe("200 ");
    const file = parseRuleFile("rules.yaml", RULES);
    if (!file.ok) throw new Error(file.message);
    rules = compileRules([file.model], attachKeys);
    expect(await get("/rlconfig")).toBe(
      "200 foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: true, quota_mode: true\n" +
        "foo.k2: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false\n",
    );
  });

  it("/rlconfig is whole when it is longer than one piece", async () => {
    const dump = `foo.${"😀".repeat(50)}: unit=MINUTE\n`.repeat(10_001);
    rules = { dump: () => dump };
    expect(await get("/rlconfig")).toBe(`200 ${dump}`);
  });

  it("/stats prints every statistic, as lines or as JSON", async () => {
    const statistics = new ServiceStatistics(store);
    statistics.configLoadSuccess.add(2);
    expect(await get("/stats")).toContain("\nratelimit.service.config_load_success: 2\n");
    expect(JSON.parse((await get("/stats?format=json")).slice(4))).toMatchObject({
      "ratelimit.service.config_load_success": 2,
    });
  });

  it("/healthcheck follows the health of the process", async () => {
    expect(await get("/healthcheck")).toBe("500 ");
    health.set("start", true);
    expect(await get("/healthcheck")).toBe("200 OK");
  });
});
