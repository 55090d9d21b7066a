import { describe, expect, it } from "vitest";
import { StoreError } from "../store/store-error.ts";
import { Health } from "./health.ts";

describe("Health", () => {
  it("asks the store at most once a second and follows its answer", async () => {
    let nowMs = 0;
    let pings = 0;
    let isUp = true;
    const ping = (): Promise<void> => {
      pings += 1;
      return isUp ? Promise.resolve() : Promise.reject(new Error("down"));
    };
    const health = new Health({ ping, monotonicMs: () => nowMs });
    expect([await health.isReady(), await health.isReady(), pings]).toEqual([true, true, 1]);
    isUp = false;
    nowMs = 1000;
    expect([await health.isReady(), pings]).toEqual([false, 2]);
    isUp = true;
    nowMs = 2000;
    expect(await health.isReady()).toBe(true);
  });

  it("is not ready from the drain on", async () => {
    const health = new Health({ ping: () => Promise.resolve(), monotonicMs: () => 0 });
    health.drain();
    expect([await health.isReady(), health.isDraining()]).toEqual([false, true]);
  });

  it("says why the store does not work", async () => {
    let fault: Error | undefined = new StoreError("not_applied", new Error("the disk is full"));
    const ping = (): Promise<void> => (fault === undefined ? Promise.resolve() : Promise.reject(fault));
    let nowMs = 0;
    const health = new Health({ ping, monotonicMs: () => nowMs });
    expect([await health.isReady(), health.reason()]).toEqual([false, "the disk is full"]);
    fault = undefined;
    nowMs = 1000;
    expect([await health.isReady(), health.reason()]).toEqual([true, ""]);
  });
});
