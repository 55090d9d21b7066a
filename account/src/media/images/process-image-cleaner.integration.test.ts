// The image process on good, bad and hostile files.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { promisify } from "node:util";
import { callerGroup } from "@weir/common/callers/caller-group";
import { silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cameraExif, exifSegment, png, pngChunk, withSegments } from "../sample-images.suite.ts";
import {
  badImages,
  bombs,
  goodImages,
  jpegOfScans,
  largePhotos,
  largestImages,
  largestPng,
  METADATA_WORDS,
  noise,
} from "./image-corpus.suite.ts";
import { type ImageCleanerOptions, ProcessImageCleaner } from "./process-image-cleaner.ts";

const execute = promisify(execFile);

const MIB = 1024 * 1024;

const ADDRESS = callerGroup("203.0.113.7");

/** Bounds as of the service, but for a time that machines with other work to do keep too. */
const OPTIONS: ImageCleanerOptions = {
  timeoutMs: 40_000,
  memoryMaxBytes: 512 * MIB,
  idleMemoryMaxBytes: 128 * MIB,
  maxPixels: 1_048_576,
  maxBytes: 2 * MIB,
};

let ends = 0;
let nowMs = 0;

function createCleaner(options: Partial<ImageCleanerOptions> = {}): ProcessImageCleaner {
  let last: Promise<unknown> = Promise.resolve();
  const queue = {
    run: <T>(_networks: readonly string[], work: () => Promise<T>): Promise<T> => {
      const next = last.then(work);
      last = next.catch(() => undefined);
      return next;
    },
  };
  return new ProcessImageCleaner(
    { log: silentLog(), queue, nowMs: () => nowMs, onProcessEnded: () => (ends += 1) },
    { ...OPTIONS, ...options },
  );
}

/** Runs the test with a cleaner of its own. */
async function withCleaner<T>(
  options: Partial<ImageCleanerOptions>,
  use: (cleaner: ProcessImageCleaner) => Promise<T>,
): Promise<T> {
  const cleaner = createCleaner(options);
  await cleaner.start();
  try {
    return await use(cleaner);
  } finally {
    await cleaner.stop();
  }
}

let cleaner: ProcessImageCleaner;

beforeAll(async () => {
  cleaner = createCleaner();
  await cleaner.start();
});

afterAll(() => cleaner.stop());

async function cleanBytes(file: Buffer): Promise<Buffer> {
  const result = await cleaner.clean(file, ADDRESS);
  if (!result.ok) throw new Error(`expected an image, got ${result.problem}`);
  return result.image.bytes;
}

/** The colours of a picture, in short. */
async function pixels(file: Buffer): Promise<Buffer> {
  return sharp(file).removeAlpha().toColourspace("srgb").raw().toBuffer();
}

describe("ProcessImageCleaner", () => {
  it("takes every good file of the corpus, upright and without what was hidden in it", async () => {
    const files = await goodImages();
    for (const { name, bytes, format, width, height } of files) {
      const result = await cleaner.clean(bytes, ADDRESS);
      expect([name, result.ok ? { ...result.image, bytes: undefined } : result]).toEqual([
        name,
        { format, width, height, bytes: undefined },
      ]);
      const stored = result.ok ? result.image.bytes : Buffer.alloc(0);
      for (const word of METADATA_WORDS) expect([name, stored.includes(word)]).toEqual([name, false]);
      const header = await sharp(stored).metadata();
      expect([name, header.exif, header.xmp, header.iptc, header.orientation]).toEqual([
        name,
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    }
    expect(ends).toBe(0);
  });

  it("refuses every bad file of the corpus for its reason, and no file ends the process", async () => {
    const pid = cleaner.pid;
    const files = await badImages();
    for (const { name, bytes, problems } of files) {
      const result = await cleaner.clean(bytes, ADDRESS);
      expect([name, result.ok ? "taken" : result.problem]).toEqual([name, expect.toBeOneOf([...problems])]);
    }
    expect(cleaner.pid).toBe(pid);
    expect(files.length + (await goodImages()).length).toBeGreaterThanOrEqual(60);
  });

  it("keeps the picture: lossless formats bit by bit, others nearly", async () => {
    const source = png({ before: [pngChunk("eXIf", cameraExif(1))] });
    expect(await pixels(await cleanBytes(source))).toEqual(await pixels(source));
    const jpeg = await sharp({ create: { width: 64, height: 32, channels: 3, background: "#3080c0" } })
      .jpeg()
      .toBuffer();
    const [r = 0, g = 0, b = 0] = await pixels(await cleanBytes(jpeg));
    for (const [got, wanted] of [
      [r, 0x30],
      [g, 0x80],
      [b, 0xc0],
    ] as const)
      expect(Math.abs(got - wanted)).toBeLessThan(6);
  });

  it("turns a picture upright before it drops its orientation", async () => {
    const halves = Buffer.concat([Buffer.alloc(32 * 16 * 3, 0), Buffer.alloc(32 * 16 * 3, 255)]); // Black above white.
    const jpeg = await sharp(halves, { raw: { width: 32, height: 32, channels: 3 } })
      .jpeg()
      .toBuffer();
    const turned = await pixels(await cleanBytes(withSegments(jpeg, exifSegment(6)))); // 90 degrees clockwise.
    const left = turned[16 * 32 * 3] ?? 0;
    const right = turned[(16 * 32 + 31) * 3] ?? 0;
    expect([left > 200, right < 50]).toEqual([true, true]);
  });

  it("shrinks the photos of a phone, upright, in the memory of the service", async () => {
    const pid = cleaner.pid;
    const sizes = [];
    for (const file of await largePhotos()) {
      const result = await cleaner.clean(file, ADDRESS);
      sizes.push(result.ok ? [result.image.width, result.image.height] : result.problem);
    }
    expect(sizes).toEqual([
      [1182, 886],
      [886, 1182],
      [1182, 886],
    ]);
    expect(cleaner.pid).toBe(pid);
  });

  it.each(["png", "jpeg", "webp"] as const)(
    "lowers the quality of a %s to its bytes, or refuses it",
    async (format) => {
      const file = await noise(format);
      const first = await cleanBytes(file);
      const maxBytes = Math.floor(first.length * 0.6);
      await withCleaner({ maxBytes }, async (narrow) => {
        const result = await narrow.clean(file, ADDRESS);
        expect(result).toMatchObject({ ok: true, image: { format, width: 400, height: 300 } });
        expect(result.ok && result.image.bytes.length).toBeLessThanOrEqual(maxBytes);
      });
      await withCleaner({ maxBytes: 1024 }, async (narrow) => {
        expect(await narrow.clean(file, ADDRESS)).toEqual({ ok: false, problem: "too_large" });
      });
    },
  );

  it("is not stopped by much data that is not of the picture", async () => {
    const pid = cleaner.pid;
    for (const { name, bytes } of bombs()) {
      const result = await cleaner.clean(bytes, ADDRESS);
      // Skipped, or refused: as the decoder likes.
      expect([name, result.ok ? "taken" : result.problem]).toEqual([
        name,
        expect.toBeOneOf(["taken", "type", "damaged"]),
      ]);
      if (result.ok) expect([name, result.image.bytes.length < 1000]).toEqual([name, true]);
    }
    expect(cleaner.pid).toBe(pid);
  });

  it.each([
    { name: "180000 scans of a small picture", side: 16, scans: 180_000 },
    { name: "5000 scans of the largest picture", side: 4096, scans: 5000 },
  ])("refuses a JPEG of $name", async ({ side, scans }) => {
    expect(await cleaner.clean(await jpegOfScans(side, scans), callerGroup(`203.0.113.${scans % 251}`))).toEqual({
      ok: false,
      problem: expect.toBeOneOf(["damaged", "complex"]) as unknown,
    });
  });

  it("kills the process over an image that takes too long, and cleans the next one", async () => {
    await withCleaner({ timeoutMs: 3000 }, async (hurried) => {
      const other = callerGroup("203.0.113.8");
      const before = { pid: hurried.pid ?? 0, ends };
      process.kill(before.pid, "SIGSTOP"); // As over an image without end.
      expect(await hurried.clean(png(), ADDRESS)).toEqual({ ok: false, problem: "complex" });
      expect(await hurried.clean(png(), other)).toMatchObject({ ok: true });
      await expect(hurried.clean(png(), ADDRESS)).rejects.toMatchObject({ code: "rate_limited" });
      nowMs += 60_000;
      expect(await hurried.clean(png(), ADDRESS)).toMatchObject({ ok: true });
      expect([hurried.pid === before.pid, ends]).toEqual([false, before.ends + 1]);
    });
  });

  it("kills the process over an image that takes too much memory", async () => {
    await withCleaner({ memoryMaxBytes: 30 * MIB }, async (small) => {
      expect(await small.clean(largestPng(), ADDRESS)).toEqual({ ok: false, problem: "complex" });
    });
  });

  it("keeps at most 150 MiB between two images, also after the largest", async () => {
    for (const file of await largestImages()) {
      expect((await cleaner.clean(file, ADDRESS)).ok).toBe(true);
      await eventually("little memory", () => expect(residentBytes(cleaner.pid)).toBeLessThan(150 * MIB));
    }
  });

  it("starts the process again when it ended between two images", async () => {
    await withCleaner({}, async (killed) => {
      const pid = killed.pid ?? 0;
      process.kill(pid, "SIGKILL");
      await eventually("the end of the process", () => expect(killed.pid).not.toBe(pid));
      expect((await killed.clean(png(), ADDRESS)).ok).toBe(true);
    });
  });

  it.each([
    { how: "crashes over an image", signal: "SIGSEGV", first: false },
    { how: "is killed from outside, as by the kernel without memory", signal: "SIGKILL", first: true },
  ])("gives $first for the first image when the process $how, and cleans those that waited", async (end) => {
    await withCleaner({}, async (killed) => {
      const pid = killed.pid ?? 0;
      process.kill(pid, "SIGSTOP");
      const results = [7, 8, 9].map((host) => killed.clean(png(), callerGroup(`203.0.113.${host}`)));
      await new Promise((resolve) => setImmediate(resolve)); // The first is sent.
      for (const signal of [end.signal, "SIGCONT"]) process.kill(pid, signal);
      expect((await Promise.all(results)).map(({ ok }) => ok)).toEqual([end.first, true, true]);
    });
  });

  it("cannot process an image over which the process is killed from outside twice, and blames nobody", async () => {
    await withCleaner({}, async (killed) => {
      const [file = Buffer.alloc(0)] = await largestImages();
      const refused = killed.clean(file, ADDRESS);
      const pids: (number | undefined)[] = [];
      while (pids.length < 2) {
        await eventually("another decoder", () => {
          expect(pids).not.toContain(killed.pid);
          expect(residentBytes(killed.pid)).toBeGreaterThan(120 * MIB);
        });
        process.kill(killed.pid ?? 0, "SIGKILL");
        pids.push(killed.pid);
      }
      await expect(refused).rejects.toMatchObject({ code: "media_store_unavailable" });
      expect((await killed.clean(png(), ADDRESS)).ok).toBe(true);
    });
  });
});

describe("the image process", () => {
  it("has no secret in its environment, and is the first that the kernel ends without memory", () => {
    const environment = readFileSync(`/proc/${cleaner.pid}/environ`, "utf8").split("\0").filter(Boolean);
    expect(environment.map((entry) => entry.slice(0, entry.indexOf("="))).toSorted()).toEqual([
      "MALLOC_ARENA_MAX",
      "MALLOC_MMAP_THRESHOLD_",
      "MALLOC_TRIM_THRESHOLD_",
      "UV_THREADPOOL_SIZE",
    ]);
    expect(readFileSync(`/proc/${cleaner.pid}/oom_score_adj`, "utf8").trim()).toBe("1000");
  });

  it("has no socket but its input, output and errors", () => {
    const folder = `/proc/${cleaner.pid}/fd`;
    const sockets = readdirSync(folder).filter((fd) => readlinkSync(`${folder}/${fd}`).startsWith("socket:"));
    expect(sockets.filter((fd) => Number(fd) > 2)).toEqual([]);
  });

  it("may not read, write, start programs, connect or listen", async () => {
    const script = `
      import { once } from "node:events";
      import { readFileSync, writeFileSync } from "node:fs";
      import { spawnSync } from "node:child_process";
      import { createServer, connect } from "node:net";
      const attempts = {
        read: () => readFileSync("/etc/passwd"),
        write: () => writeFileSync("/tmp/written", ""),
        spawn: () => spawnSync("true"),
        connect: () => once(connect(1, "127.0.0.1"), "connect"),
        listen: () => createServer().listen(0),
      };
      for (const [name, attempt] of Object.entries(attempts)) {
        try { await attempt(); console.log(name, "allowed"); } catch (error) { console.log(name, error.code); }
      }
      process.exit();`;
    // The flags of the running process, with another program.
    const [node = "", ...rest] = readFileSync(`/proc/${cleaner.pid}/cmdline`, "utf8").split("\0").filter(Boolean);
    const flags = rest.filter((arg) => arg.startsWith("--"));
    const { stdout } = await execute(node, [...flags, "--input-type=module", "--eval", script]);
    expect(stdout.trim().split("\n")).toEqual([
      "read ERR_ACCESS_DENIED",
      "write ERR_ACCESS_DENIED",
      "spawn ERR_ACCESS_DENIED",
      "connect ERR_ACCESS_DENIED",
      "listen ERR_ACCESS_DENIED",
    ]);
  });
});

function residentBytes(pid: number | undefined): number {
  return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * 4096;
}
