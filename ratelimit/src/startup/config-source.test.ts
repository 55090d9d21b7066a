// Loads of files in numbers.
import { describe, expect, it } from "vitest";

import { ConfigError } from "../config/errors.ts";
import { LoadStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { withLoadMetrics } from "./config-source.ts";

describe("withLoadMetrics()", () => {
  it("withLoadMetrics() hands everything on, and counts attempts, failures and files", async () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const refusal = new ConfigError("CONFIG_INVALID", "no");
    const received: string[] = [];
    const listener = withLoadMetrics(
      {
        apply(configs) {
          received.push(`apply ${configs.length}`);
          return Promise.resolve(configs.length === 1 ? refusal : undefined);
        },
        reject: (error) => void received.push(`reject ${error.message}`),
      },
      new LoadStatistics(store, "runtime"),
    );
    const config = { name: "n", domain: "d", descriptors: [] };
    expect(await listener.apply([config, config])).toBeUndefined();
    expect(await listener.apply([config])).toBe(refusal);
    listener.reject(refusal);
    expect(received).toEqual(["apply 2", "apply 1", "reject no"]);
    expect(store.counter("runtime.load_attempts").value).toBe(3);
    expect(store.counter("runtime.load_failures").value).toBe(1);
    expect(store.gauge("runtime.num_values").value).toBe(1);
  });
});
