import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { describe, expect, it } from "vitest";

import { ConfigError } from "../config/errors.ts";
import { Health } from "../health/health.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ActiveRules } from "./active-rules.ts";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";

function setUp(options: { mergeDomains: boolean } = { mergeDomains: false }): {
  rules: ActiveRules;
  statistics: ServiceStatistics;
  health: Health;
} {
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const statistics = new ServiceStatistics(store);
  const health = new Health({ withConfig: true, withActiveConnection: false });
  health.set("start", true);
  return { rules: new ActiveRules({ store, statistics, health }, options), statistics, health };
}

function config(name: string, text: string): RateLimitConfigModel {
  const file = parseRuleFile(name, text);
  if (!file.ok) throw new Error(file.message);
  return file.model;
}

const ONE =
  "domain: test-domain\ndescriptors: [{key: key1, value: value1, rate_limit: {unit: minute, requests_per_unit: 10}}]\n";
const OTHER =
  "domain: test-domain\ndescriptors: [{key: key2, value: value2, rate_limit: {unit: minute, requests_per_unit: 20}}]\n";

describe("ActiveRules", () => {
  it("current() is undefined before the first good load", () => {
    expect(setUp().rules.current()).toBeUndefined();
  });

  it("apply() makes a set active, counts it, and sets health (case 176)", async () => {
    const { rules, statistics, health } = setUp();
    expect(rules.apply([config("one.yaml", ONE)])).toBeUndefined();
    await rules.first;
    expect(rules.current()?.dump()).toBe(
      "test-domain.key1_value1: unit=MINUTE requests_per_unit=10, shadow_mode: false, quota_mode: false\n",
    );
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 0]);
    expect(health.isHealthy()).toBe(true);
  });

  it("apply() takes an empty set as a load, and health sees that no domain is left (case 176)", () => {
    const { rules, statistics, health } = setUp();
    rules.apply([config("one.yaml", ONE)]);
    expect(rules.apply([])).toBeUndefined();
    expect(rules.current()?.domains).toBe(0);
    expect(statistics.configLoadSuccess.value).toBe(2);
    expect(health.isHealthy()).toBe(false);
  });

  it("apply() refuses two files of one domain when domains are not merged, and keeps the active rules (cases 28, 146, 191)", () => {
    const { rules, statistics, health } = setUp();
    rules.apply([config("one.yaml", ONE)]);
    const before = rules.current();
    const error = rules.apply([config("one.yaml", ONE), config("duplicate_domain.yaml", OTHER)]);
    expect(error).toMatchObject({
      code: "CONFIG_INVALID",
      message: "duplicate_domain.yaml: duplicate domain 'test-domain' in config file",
      problem: { config: 1, path: ["domain"] },
    });
    expect(rules.current()).toBe(before);
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 1]);
    expect(health.isHealthy()).toBe(true);
  });

  it("apply() merges two files of one domain when asked to (cases 19, 191)", () => {
    const { rules } = setUp({ mergeDomains: true });
    rules.apply([config("one.yaml", ONE), config("two.yaml", OTHER)]);
    expect(rules.current()?.dump()).toBe(
      "test-domain.key1_value1: unit=MINUTE requests_per_unit=10, shadow_mode: false, quota_mode: false\n" +
        "test-domain.key2_value2: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false\n",
    );
  });

  it("apply() refuses the same file twice when domains are merged (case 31)", () => {
    const { rules } = setUp({ mergeDomains: true });
    expect(rules.apply([config("one.yaml", ONE), config("two.yaml", ONE)])?.message).toBe(
      "two.yaml: duplicate descriptor composite key 'test-domain.key1_value1'",
    );
    expect(rules.current()).toBeUndefined();
  });

  it("reject() counts a failed load, and keeps the active rules", () => {
    const { rules, statistics } = setUp();
    rules.apply([config("one.yaml", ONE)]);
    const before = rules.current();
    rules.reject(new ConfigError("CONFIG_INVALID", "one.yaml: error checking config"));
    expect(rules.current()).toBe(before);
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 1]);
  });

  it("config_rejected is 1 from a rejected set, of either kind, to the next that becomes active", () => {
    const { rules, statistics } = setUp();
    const error = new ConfigError("CONFIG_INVALID", "one.yaml: error checking config");
    const duplicates = [config("one.yaml", ONE), config("duplicate_domain.yaml", OTHER)];
    const values = [
      () => rules.reject(error),
      () => rules.apply([config("one.yaml", ONE)]),
      () => rules.apply(duplicates),
      () => rules.apply([]),
    ].map((load) => {
      load();
      return statistics.configRejected.value;
    });
    expect(values).toEqual([1, 0, 1, 0]);
  });
});
