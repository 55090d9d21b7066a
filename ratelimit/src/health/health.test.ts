import { describe, expect, it } from "vitest";

import { Health } from "./health.ts";

describe("Health", () => {
  it("isHealthy() is false until the start is reported", () => {
    const health = new Health({ withConfig: false, withActiveConnection: false });
    expect(health.isHealthy()).toBe(false);
    health.set("start", true);
    expect(health.isHealthy()).toBe(true);
  });

  it("isHealthy() needs both when the configuration takes part (case 174)", () => {
    const health = new Health({ withConfig: true, withActiveConnection: false });
    health.set("config", true);
    expect(health.isHealthy()).toBe(false);
    health.set("start", true);
    expect(health.isHealthy()).toBe(true);
    health.set("config", false);
    expect(health.isHealthy()).toBe(false);
  });

  it("isHealthy() follows the connection to the store when that takes part (case 173)", () => {
    const health = new Health({ withConfig: false, withActiveConnection: true });
    health.set("start", true);
    expect(health.isHealthy()).toBe(true);
    health.set("cache", false);
    expect(health.isHealthy()).toBe(false);
    health.set("cache", true);
    expect(health.isHealthy()).toBe(true);
  });

  it("set() is ignored for components that do not take part", () => {
    const health = new Health({ withConfig: false, withActiveConnection: false });
    health.set("start", true);
    health.set("cache", false);
    health.set("config", false);
    expect(health.isHealthy()).toBe(true);
  });

  it("isHealthy() is false for good when a signal came (case 177)", () => {
    const health = new Health({ withConfig: false, withActiveConnection: false });
    health.set("start", true);
    health.set("signal", false);
    health.set("start", true);
    expect(health.isHealthy()).toBe(false);
  });

  it("onChange() reports changes of the overall health only, until it is ended", () => {
    const health = new Health({ withConfig: true, withActiveConnection: false });
    const received: boolean[] = [];
    const end = health.onChange((isHealthy) => received.push(isHealthy));
    health.set("start", true);
    health.set("config", true);
    health.set("config", true);
    health.set("config", false);
    end();
    health.set("config", true);
    expect(received).toEqual([true, false]);
  });
});
