import { silentLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";

import { Health } from "../health/health.ts";
import type { Transport } from "../transport/transport.ts";
import { createTrafficGate } from "./traffic-gate.ts";

/** A transport whose calls end when the test says so. */
class HeldTransport implements Transport {
  readonly name = "held";
  isDraining = false;
  readonly #drained = Promise.withResolvers<void>();

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  address(): string {
    return "127.0.0.1:1";
  }

  drain(): Promise<void> {
    this.isDraining = true;
    return this.#drained.promise;
  }

  finish(): void {
    this.#drained.resolve();
  }
}

/** Sleeps that end when the test says so. */
class HeldSleeps {
  readonly #sleeping = new Map<number, () => void>();

  readonly sleep = (ms: number): Promise<void> => new Promise((resolve) => this.#sleeping.set(ms, resolve));

  /** The durations of all sleeps. */
  lengths(): readonly number[] {
    return [...this.#sleeping.keys()];
  }

  async end(ms: number): Promise<void> {
    this.#sleeping.get(ms)?.();
    this.#sleeping.delete(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("createTrafficGate", () => {
  let health: Health;
  let transport: HeldTransport;
  let sleeps: HeldSleeps;

  beforeEach(() => {
    health = new Health({ withConfig: false, withActiveConnection: false });
    transport = new HeldTransport();
    sleeps = new HeldSleeps();
  });

  function serve(isDrainWanted: boolean): { stop: () => Promise<void> } {
    const deps = {
      transports: [transport],
      health,
      isDrainWanted: () => isDrainWanted,
      sleep: sleeps.sleep,
      log: silentLog(),
    };
    const part = createTrafficGate(deps, { drainMs: 5000, graceMs: 10_000 });
    void part.start?.();
    return { stop: async () => part.stop?.() };
  }

  it("start() makes the process healthy", () => {
    serve(true);
    expect(health.isHealthy()).toBe(true);
  });

  it("stop() is unhealthy immediately, keeps the listeners open for the drain, then waits for running calls (case 177)", async () => {
    const { stop } = serve(true);
    const stopping = stop();
    expect([health.isHealthy(), transport.isDraining, sleeps.lengths()]).toEqual([false, false, [5000]]);
    await sleeps.end(5000);
    expect([transport.isDraining, sleeps.lengths()]).toEqual([true, [10_000]]);
    transport.finish();
    await stopping;
  });

  it("stop() drains immediately when the signal does not ask for a wait", async () => {
    const { stop } = serve(false);
    const stopping = stop();
    expect([transport.isDraining, sleeps.lengths()]).toEqual([true, [10_000]]);
    transport.finish();
    await stopping;
  });

  it("stop() waits no longer than the grace period for running calls", async () => {
    const { stop } = serve(false);
    let isStopped = false;
    const stopping = stop().then(() => {
      isStopped = true;
    });
    expect(isStopped).toBe(false);
    await sleeps.end(10_000);
    await stopping;
    expect(isStopped).toBe(true);
  });
});
