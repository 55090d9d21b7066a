// Tests of text-cache.ts over files in memory whose times are as coarse as those of a file system:
// which files are read again, and that no change is missed.
import { beforeEach, describe, expect, it } from "vitest";

import { type FileText, type FileVersion, type ReadFile, versionOf } from "./read-manifest-file.ts";
import { type FileAccess, TextCache } from "./text-cache.ts";

/** 2026-11-21 12:00:00 UTC. */
const START_MS = 1_795_262_400_000;

interface FakeFile {
  text: string;
  mode: "readable" | "unreadable";
  stats: Parameters<typeof versionOf>[0];
}

/** Files that have times in steps of `stepMs`, by a clock that the test moves. */
class FakeFiles implements FileAccess {
  nowMs = START_MS;
  readonly files = new Map<string, FakeFile>();
  /** Paths that were read, since they were last taken out. */
  reads: string[] = [];
  looks = 0;
  /**
   * Runs once between the moment at which a file's version is taken and that at which its text is.
   */
  whileReading: () => void = () => undefined;
  readonly #stepMs: number;
  #inodes = 1n;

  constructor(stepMs = 1) {
    this.#stepMs = stepMs;
  }

  /** Writes into the file that is there, or a new one. */
  write(path: string, text: string): void {
    const ino = this.files.get(path)?.stats.ino ?? this.#inodes++;
    this.files.set(path, { text, mode: "readable", stats: this.#stats(ino, text) });
  }

  /** Replaces the file by another one with the same times. */
  replace(path: string, text: string): void {
    const before = this.#file(path);
    this.files.set(path, { text, mode: "readable", stats: { ...before.stats, ino: this.#inodes++ } });
  }

  chmod(path: string, mode: FakeFile["mode"]): void {
    const file = this.#file(path);
    file.mode = mode;
    file.stats = { ...file.stats, ctimeNs: this.#timeNs() };
  }

  version(path: string): Promise<FileVersion | undefined> {
    this.looks++;
    const file = this.files.get(path);
    return Promise.resolve(file === undefined ? undefined : versionOf(file.stats));
  }

  read(path: string): Promise<ReadFile> {
    this.reads.push(path);
    const file = this.files.get(path);
    if (file === undefined) return Promise.resolve({ text: { kind: "gone" } });
    if (file.mode === "unreadable")
      return Promise.resolve({ text: { kind: "unreadable", message: "this user may not read the file" } });
    const version = versionOf(file.stats);
    this.whileReading();
    this.whileReading = () => undefined;
    return Promise.resolve({ text: { kind: "text", text: this.#file(path).text }, version });
  }

  #stats(ino: bigint, text: string): FakeFile["stats"] {
    return { dev: 1n, ino, size: BigInt(text.length), mtimeNs: this.#timeNs(), ctimeNs: this.#timeNs() };
  }

  #timeNs(): bigint {
    return BigInt(Math.floor(this.nowMs / this.#stepMs) * this.#stepMs) * 1_000_000n;
  }

  #file(path: string): FakeFile {
    const file = this.files.get(path);
    if (file === undefined) throw new Error(`there is no ${path}`);
    return file;
  }
}

describe("TextCache.read()", () => {
  let files: FakeFiles;
  let cache: TextCache;

  function use(made: FakeFiles): void {
    files = made;
    cache = new TextCache(() => files.nowMs, files);
  }

  /** One call for `paths`: their texts, and the files that were read for it. */
  async function look(...paths: readonly string[]): Promise<{ says: readonly string[]; read: readonly string[] }> {
    const texts = await cache.read(paths);
    return { says: [...texts.values()].map(say), read: files.reads.splice(0) };
  }

  function say(text: FileText): string {
    return text.kind === "text" ? text.text : text.kind;
  }

  beforeEach(() => use(new FakeFiles()));

  it("reads old files once, and returns the same object at every call after that", async () => {
    files.write("a", "one");
    files.write("b", "two");
    files.nowMs += 10_000;
    const first = await cache.read(["a", "b"]);
    expect([...first]).toEqual([
      ["a", { kind: "text", text: "one" }],
      ["b", { kind: "text", text: "two" }],
    ]);
    files.reads = [];
    for (let count = 0; count < 5; count++) {
      files.nowMs += 5000;
      expect(await cache.read(["a", "b"])).toBe(first);
    }
    expect([files.reads, files.looks]).toEqual([[], 10]);
  });

  it("reads only the file that was changed, and returns another object", async () => {
    files.write("a", "one");
    files.write("b", "two");
    files.nowMs += 10_000;
    const before = await cache.read(["a", "b"]);
    files.reads = [];
    files.write("b", "TWO");
    expect(await look("a", "b")).toEqual({ says: ["one", "TWO"], read: ["b"] });
    expect(before.get("b")).toEqual({ kind: "text", text: "two" });
  });

  it.each([1, 10, 1000, 2000])(
    "misses no rewrite of the same size when times come in steps of %i ms",
    async (stepMs) => {
      use(new FakeFiles(stepMs));
      files.nowMs += stepMs / 2;
      for (let version = 100; version < 150; version++) {
        files.write("a", `v${version}`);
        expect((await look("a")).says).toEqual([`v${version}`]);
        // Within the same step of the file system, and read again at any distance.
        files.write("a", `w${version}`);
        files.nowMs += version * 17;
        expect((await look("a")).says).toEqual([`w${version}`]);
      }
    },
  );

  it("reads a young file again until it is not young any more", async () => {
    files.write("a", "one");
    const reads: number[] = [];
    for (const waitMs of [0, 1000, 999, 1, 5000]) {
      files.nowMs += waitMs;
      reads.push((await look("a")).read.length);
    }
    expect(reads).toEqual([1, 1, 1, 1, 0]);
  });

  it("sees a change during the read at the next call", async () => {
    files.write("a", "half");
    files.nowMs += 10_000;
    // The cache reads the new text, under the old version.
    files.whileReading = () => files.write("a", "full");
    await cache.read(["a"]);
    files.nowMs += 10_000;
    files.reads = [];
    expect(await look("a")).toEqual({ says: ["full"], read: ["a"] });
  });

  it("sees another file at the same path with the same size and times", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    await look("a");
    files.replace("a", "two");
    expect((await look("a")).says).toEqual(["two"]);
  });

  it("sees that a file becomes unreadable and readable, and reads it each time while it is not", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    await look("a");
    files.chmod("a", "unreadable");
    files.nowMs += 10_000;
    for (let count = 0; count < 2; count++) expect(await look("a")).toEqual({ says: ["unreadable"], read: ["a"] });
    // Without a trace in the file, as where a right comes from elsewhere.
    const file = files.files.get("a");
    if (file !== undefined) file.mode = "readable";
    expect((await look("a")).says).toEqual(["one"]);
  });

  it("forgets a deleted file, and reads it when it is back with the same version", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    await look("a");
    const file = files.files.get("a");
    files.files.delete("a");
    expect((await look("a")).says).toEqual(["gone"]);
    expect((await look()).says).toEqual([]);
    if (file !== undefined) files.files.set("a", { ...file, text: "two" });
    expect(await look("a")).toEqual({ says: ["two"], read: ["a"] });
  });

  it("finds a change that no version shows within 30 seconds, and returns the same object when nothing has changed", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    const first = await cache.read(["a"]);
    const file = files.files.get("a");
    if (file !== undefined) file.text = "two";
    files.nowMs += 29_999;
    expect((await look("a")).says).toEqual(["one"]);
    files.nowMs += 1;
    const second = await cache.read(["a"]);
    expect([...second.values()].map(say)).toEqual(["two"]);
    files.nowMs += 30_000;
    expect(await cache.read(["a"])).toBe(second);
    expect(second).not.toBe(first);
  });

  it.each([{ looks: 1 }, { looks: 5 }])(
    "reads every file when the clock was set back after $looks calls",
    async ({ looks }) => {
      files.write("a", "one");
      files.nowMs += 10_000;
      for (let count = 0; count < looks; count++) {
        files.nowMs += 5000;
        await look("a");
      }
      files.reads = [];
      files.nowMs -= 5001;
      expect((await look("a")).read).toEqual(["a"]);
    },
  );
});
