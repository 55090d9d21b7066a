import { expect, it } from "vitest";
import { mutate } from "./mutation.ts";
import { Random } from "./random.ts";

it("Random.between() reaches both ends and nothing else", () => {
  const random = new Random(1);
  const seen = new Set(Array.from({ length: 1000 }, () => random.between(3, 6)));
  expect([...seen].sort()).toEqual([3, 4, 5, 6]);
});

it("mutate() leaves its input alone and stays within 64 KiB", () => {
  const random = new Random(2);
  const bytes = Buffer.alloc(60_000, "ab");
  for (let run = 0; run < 100; run++) expect(mutate(random, bytes, 5).length).toBeLessThanOrEqual(65_536);
  expect(bytes.equals(Buffer.alloc(60_000, "ab"))).toBe(true);
});
