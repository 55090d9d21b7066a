import { describe, expect, it } from "vitest";
import { createImageQueue } from "./service-media.ts";

/** Longest time of one image, in milliseconds. */
const SLOW_MS = 2000;

describe("createImageQueue()", () => {
  it("has a place and an early turn for an address while others send as many slow images as they can", async () => {
    let nowMs = 0;
    const ends: (() => void)[] = [];
    const started: string[] = [];
    const results: Promise<string>[] = [];
    const queue = createImageQueue({ nowMs: () => nowMs });
    const send = (address: string): void => {
      const work = async (): Promise<void> => {
        started.push(address);
        await new Promise<void>((resolve) => ends.push(resolve));
      };
      results.push(
        queue.run([address], work).then(
          () => address,
          () => `${address} refused`,
        ),
      );
    };
    const endOne = async (): Promise<void> => {
      nowMs += SLOW_MS;
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    };
    send("slow 0");
    await endOne(); // The queue knows how long such images take.
    for (const address of ["slow 0", "slow 1", "slow 2", "slow 3"]) for (let i = 0; i < 32; i++) send(address);
    send("other");
    for (let i = 0; i < 5; i++) await endOne();
    expect(started).toContain("other");
    while (ends.length > 0) await endOne();
    expect(await Promise.all(results)).toContain("other");
  });
});
