// Damages the files of the corpus at random: whatever comes, the image process answers, and what it
// gives out is an image. A test runs it for a moment, `make fuzz` for a tenth of its minutes.
import { callerGroup } from "@weir/common/callers/caller-group";
import { parseArgs } from "node:util";
import { createLog, type Log } from "@weir/common/log/log";
import { mutate } from "@weir/harness/processes/mutation";
import { Random } from "@weir/harness/processes/random";
import type { ImageCleaner } from "../image.ts";
import { goodImages } from "./image-corpus.suite.ts";
import { ProcessImageCleaner } from "./process-image-cleaner.ts";

/** Files between two looks at the time. */
const ROUND = 200;

const SHARE_OF_TIME = 0.1;

const MIB = 1024 * 1024;

/** How many files were taken and refused. */
export interface FuzzTotals {
  taken: number;
  refused: number;
  /** Files over which the process ended. */
  ended: number;
}

/** Cleans `files` damaged files of the corpus; rejects for one that does not become what it should. */
export async function fuzzImages(
  cleaner: ImageCleaner,
  { seed, files }: { readonly seed: number; readonly files: number },
  totals: FuzzTotals,
): Promise<void> {
  const corpus = (await goodImages()).map(({ bytes }) => bytes);
  for (let index = 0; index < files; index++) {
    const random = new Random(seed + index);
    const result = await cleaner.clean(
      mutate(random, random.pick(corpus), random.between(1, 3)),
      callerGroup(`10.0.${(index >> 8) & 255}.${index & 255}`),
    );
    totals[result.ok ? "taken" : "refused"] += 1;
    if (!result.ok) continue;
    const { format, width, height, bytes } = result.image;
    const again = await cleaner.clean(bytes, callerGroup());
    if (!again.ok || again.image.format !== format || again.image.width !== width || again.image.height !== height)
      throw new Error(`seed ${seed + index}: an image that was given out is refused or another one`);
  }
}

/** A cleaner with the bounds of the service, whose callers wait for each other. */
export function createFuzzedCleaner(log: Log, totals: FuzzTotals): ProcessImageCleaner {
  return new ProcessImageCleaner(
    {
      log,
      queue: { run: (_networks, work) => work() },
      nowMs: () => performance.now(),
      onProcessEnded: () => (totals.ended += 1),
    },
    {
      timeoutMs: 40_000,
      memoryMaxBytes: 512 * MIB,
      idleMemoryMaxBytes: 128 * MIB,
      maxPixels: 1_048_576,
      maxBytes: 2 * MIB,
    },
  );
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, seed: { type: "string" } } });
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  const endMs = performance.now() + Number(values.minutes) * 60_000 * SHARE_OF_TIME;
  const totals: FuzzTotals = { taken: 0, refused: 0, ended: 0 };
  const cleaner = createFuzzedCleaner(createLog({ level: "warn", format: "text" }), totals);
  await cleaner.start();
  process.stdout.write(`Images: seed ${seed}\n`);
  for (let round = 0; performance.now() < endMs; round++)
    await fuzzImages(cleaner, { seed: seed + round * ROUND, files: ROUND }, totals);
  await cleaner.stop();
  process.stdout.write(`Images: ${JSON.stringify(totals)}\n`);
}
