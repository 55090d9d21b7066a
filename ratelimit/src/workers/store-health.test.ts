// The connection to the counter store in the health of a service with workers.
import { describe, expect, it } from "vitest";
import { Health } from "../health/health.ts";
import { StoreHealth } from "./store-health.ts";

describe("StoreHealth", () => {
  it("is unhealthy while a process of the service is without a connection", () => {
    const health = new Health({ withConfig: false, withActiveConnection: true });
    health.set("start", true);
    const store = new StoreHealth(health);
    const seen: boolean[] = [];
    const report = (worker: number | undefined, isConnected: boolean | undefined): void => {
      if (worker === undefined) store.set("cache", isConnected === true);
      else store.report(worker, isConnected);
      seen.push(health.isHealthy());
    };
    report(undefined, true);
    report(0, false);
    report(1, true);
    report(0, true);
    report(undefined, false);
    report(undefined, true);
    report(1, false);
    report(1, undefined); // It has ended.
    expect(seen).toEqual([true, false, false, true, false, true, false, true]);
  });
});
