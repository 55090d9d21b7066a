// Damages the files of the corpus at random: whatever comes, the image process answers, and what it
// gives out is an image. A test runs it for a moment, `make fuzz` for a tenth of its minutes.
import { parseArgs } from "node:util";
import { createLog, type Log } from "@weir/common/log/log";
import fc from "fast-check";
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
  const edits = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), fc.nat(255)), {
    maxLength: 3,
  });
  const span = fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 12, 100),
  );
  const property = fc.asyncProperty(
    fc.constantFrom(...corpus),
    edits,
    span,
    span,
    async (file, changes, cut, paste) => {
      const result = await cleaner.clean(damage(file, changes, cut, paste), "fuzz");
      totals[result.ok ? "taken" : "refused"] += 1;
      if (!result.ok) return;
      const again = await cleaner.clean(result.image.bytes, "fuzz");
      const { format, width, height } = result.image;
      if (!again.ok) throw new Error(`an image that was given out is refused: ${again.problem}`);
      if (again.image.format !== format || again.image.width !== width || again.image.height !== height)
        throw new Error(`an image of ${width} by ${height} that was given out is another one`);
    },
  );
  await fc.assert(property, { seed, numRuns: files, endOnFailure: true });
}

/** Overwrites bytes, cuts a piece out, and copies a piece elsewhere; places are shares of the length. */
function damage(
  file: Buffer,
  changes: readonly (readonly [at: number, value: number])[],
  [cutAt, cutBytes]: readonly [number, number],
  [pasteAt, pasteBytes]: readonly [number, number],
): Buffer {
  const bytes = Buffer.from(file);
  for (const [at, value] of changes) bytes.writeUInt8(value, Math.floor(at * bytes.length));
  const start = Math.floor(cutAt * bytes.length);
  const shorter = Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + cutBytes)]);
  const to = Math.floor(pasteAt * shorter.length);
  return Buffer.concat([shorter.subarray(0, to), bytes.subarray(0, pasteBytes), shorter.subarray(to)]);
}

/** A cleaner with the bounds of the service, whose callers wait for each other. */
export function createFuzzedCleaner(log: Log, totals: FuzzTotals): ProcessImageCleaner {
  return new ProcessImageCleaner(
    { log, queue: { run: (_group, work) => work() }, onProcessEnded: () => (totals.ended += 1) },
    { timeoutMs: 40_000, memoryMaxBytes: 512 * MIB, idleMemoryMaxBytes: 128 * MIB },
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
    await fuzzImages(cleaner, { seed: seed + round, files: ROUND }, totals);
  await cleaner.stop();
  process.stdout.write(`Images: ${JSON.stringify(totals)}\n`);
}
