// The arithmetic of waiting.
import { describe, expect, it } from "vitest";

import { Backoff } from "./backoff.ts";

const noRandom = (): number => {
  throw new Error("drew a random number without jitter");
};

describe("Backoff", () => {
  it("nextMs() grows by the factor up to the maximum when there is no jitter", () => {
    const backoff = new Backoff({ initialMs: 10_000, maxMs: 60_000, factor: 0.5, jitter: false, random: noRandom });
    const waits = Array.from({ length: 7 }, () => backoff.nextMs());
    expect(waits).toEqual([10_000, 15_000, 22_500, 33_750, 50_625, 60_000, 60_000]);
  });

  it("nextMs() stays the same when the factor is 0", () => {
    const backoff = new Backoff({ initialMs: 100, maxMs: 1000, factor: 0, jitter: false, random: noRandom });
    expect([backoff.nextMs(), backoff.nextMs()]).toEqual([100, 100]);
  });

  it.each([
    { drawn: 0, waits: [500, 1000, 2000] },
    { drawn: 0.5, waits: [750, 1500, 3000] },
    { drawn: 0.999, waits: [999.5, 1999, 3998] },
  ])("nextMs() gives $waits when $drawn is drawn", ({ drawn, waits }) => {
    const backoff = new Backoff({ initialMs: 1000, maxMs: 4000, factor: 1, jitter: true, random: () => drawn });
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual(waits);
  });

  it("nextMs() starts over when reset() was called", () => {
    const backoff = new Backoff({ initialMs: 10, maxMs: 1000, factor: 1, jitter: false, random: noRandom });
    backoff.nextMs();
    backoff.nextMs();
    backoff.reset();
    expect(backoff.nextMs()).toBe(10);
  });

  it("nextMs() stays at the maximum when the power overflows", () => {
    const backoff = new Backoff({ initialMs: 1, maxMs: 50, factor: 1e300, jitter: false, random: noRandom });
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([1, 50, 50]);
  });

  it.each([
    {
      options: { initialMs: 0, maxMs: 1, factor: 1 },
      message: "Cannot back off: initialMs must be above 0, current value is 0",
    },
    {
      options: { initialMs: 2, maxMs: 1, factor: 1 },
      message: "Cannot back off: maxMs must be at least initialMs, current value is 1",
    },
    {
      options: { initialMs: 1, maxMs: 1, factor: -1 },
      message: "Cannot back off: factor must be at least 0, current value is -1",
    },
    {
      options: { initialMs: Number.NaN, maxMs: 1, factor: 1 },
      message: "Cannot back off: initialMs must be above 0, current value is NaN",
    },
  ])("Backoff refuses $options", ({ options, message }) => {
    expect(() => new Backoff({ ...options, jitter: false, random: noRandom })).toThrow(new RangeError(message));
  });
});
