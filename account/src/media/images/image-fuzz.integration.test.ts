import { silentLog } from "@weir/common/log/log";
import { expect, it } from "vitest";
import { createFuzzedCleaner, fuzzImages, type FuzzTotals } from "./image-fuzz.suite.ts";

it("ProcessImageCleaner answers for damaged files, and gives out images only", async () => {
  const totals: FuzzTotals = { taken: 0, refused: 0, ended: 0 };
  const cleaner = createFuzzedCleaner(silentLog(), totals);
  await cleaner.start();
  await fuzzImages(cleaner, { seed: 20_261_122, files: 300 }, totals);
  await cleaner.stop();
  expect(totals.taken).toBeGreaterThan(20); // Else the damage never leaves an image, and half of it proves nothing.
  expect(totals.refused).toBeGreaterThan(50);
});
