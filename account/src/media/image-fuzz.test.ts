// Random damage to whole images: whatever comes, the parser answers, and what it lets through is
// clean already.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AVATAR_LIMITS, cleanImage } from "./image.ts";
import * as sample from "./sample-images.suite.ts";

const RUNS = 24_000;

const SEEDS: readonly Buffer[] = [
  sample.png({ before: [sample.pngChunk("eXIf", sample.cameraExif(6))], after: Buffer.from("PK") }),
  sample.jpeg({
    before: [sample.jpegSegment(0xe1, Buffer.concat([Buffer.from("Exif\0\0"), sample.cameraExif(8)]))],
    after: Buffer.from("PK"),
  }),
  sample.webpFile([
    sample.webpHeader(0x3c),
    sample.riffChunk("ICCP", Buffer.from("p")),
    sample.webpLossy(),
    sample.riffChunk("EXIF", sample.cameraExif(3)),
  ]),
  sample.webpFile([sample.webpLossless()]),
];

/** Overwrites bytes, cuts a piece out, and copies a piece elsewhere. */
function damage(
  seed: Buffer,
  edits: readonly (readonly [number, number])[],
  cut: readonly [number, number],
  paste: readonly [number, number],
): Buffer {
  const bytes = Buffer.from(seed);
  for (const [at, value] of edits) bytes.writeUInt8(value, at % bytes.length);
  const start = cut[0] % bytes.length;
  const shorter = Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + cut[1])]);
  const to = paste[0] % (shorter.length + 1);
  return Buffer.concat([shorter.subarray(0, to), bytes.subarray(0, paste[1]), shorter.subarray(to)]);
}

describe("cleanImage() under random damage", () => {
  it("answers, and gives out only images that it takes unchanged", () => {
    const numbers = fc.tuple(fc.nat(2000), fc.nat(255));
    let taken = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...SEEDS),
        fc.array(numbers, { maxLength: 6 }),
        fc.tuple(fc.nat(2000), fc.constantFrom(0, 0, 0, 1, 4, 20)),
        fc.tuple(fc.nat(2000), fc.constantFrom(0, 0, 0, 2, 12)),
        (seed, edits, cut, paste) => {
          const result = cleanImage(damage(seed, edits, cut, paste), AVATAR_LIMITS);
          if (!result.ok) return;
          taken += 1;
          expect(cleanImage(result.image.bytes, AVATAR_LIMITS)).toEqual(result);
        },
      ),
      { numRuns: RUNS, seed: 20_261_121 },
    );
    expect(taken).toBeGreaterThan(100); // Else the damage never leaves an image, and the second half proves nothing.
  });

  it("answers for bytes that only start as an image", () => {
    const starts = [
      Buffer.from("89504e470d0a1a0a", "hex"),
      Buffer.from("ffd8ff", "hex"),
      Buffer.from("RIFF\x20\0\0\0WEBPVP8X", "latin1"),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 200 }), (start, rest) => {
        expect(typeof cleanImage(Buffer.concat([start, rest]), AVATAR_LIMITS).ok).toBe("boolean");
      }),
      { numRuns: RUNS, seed: 20_261_122 },
    );
  });
});
