import { describe, expect, it } from "vitest";
import { oneWithin } from "./one-within.ts";

describe("oneWithin()", () => {
  it("ends with the first attempt that was fast enough", async () => {
    const numbers: number[] = [];
    await oneWithin("it", 1000, (number) => {
      numbers.push(number);
      return Promise.resolve([1500, 1000, 999, 10][number - 1]!);
    });
    expect(numbers).toEqual([1, 2, 3]);
  });

  it("throws with every time when none was", async () => {
    const attempt = oneWithin("it", 1000, (number) => Promise.resolve(1000 + number));
    await expect(attempt).rejects.toThrow(
      "it took 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008 ms, never less than 1000 ms",
    );
  });
});
