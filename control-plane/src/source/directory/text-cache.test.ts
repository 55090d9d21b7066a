// Tests of text-cache.ts over files in memory whose times are as coarse as those of a file system:
// what is read again, and that nothing is missed.
import { beforeEach, describe, expect, it } from "vitest";

import type { FileText, FileVersion, ReadFile } from "./read-manifest-file.ts";
import { createTextCache, type FileAccess, type TextCache } from "./text-cache.ts";

/** 2026-11-21 12:00:00 UTC. */
const START_MS = 1_795_262_400_000;

interface FakeFile {
  text: string;
  mode: "readable" | "unreadable";
  version: FileVersion;
}

/** Files that have times in steps of `stepMs`, by a clock that the test moves. */
class FakeFiles implements FileAccess {
  nowMs = START_MS;
  isLocal = true;
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
    const ino = this.files.get(path)?.version.ino ?? this.#inodes++;
    this.files.set(path, { text, mode: "readable", version: this.#version(ino, text) });
  }

  /** Puts another file in its place, which has the times of the one that was there. */
  replace(path: string, text: string): void {
    const before = this.#file(path);
    this.files.set(path, { text, mode: "readable", version: { ...before.version, ino: this.#inodes++ } });
  }

  chmod(path: string, mode: FakeFile["mode"]): void {
    const file = this.#file(path);
    file.mode = mode;
    file.version = { ...file.version, ctimeNs: this.#timeNs() };
  }

  version(path: string): Promise<FileVersion | undefined> {
    this.looks++;
    return Promise.resolve(this.files.get(path)?.version);
  }

  read(path: string): Promise<ReadFile> {
    this.reads.push(path);
    const file = this.files.get(path);
    if (file === undefined) return Promise.resolve({ text: { kind: "gone" } });
    if (file.mode === "unreadable")
      return Promise.resolve({ text: { kind: "unreadable", message: "this user may not read the file" } });
    const { version } = file;
    this.whileReading();
    this.whileReading = () => undefined;
    return Promise.resolve({ text: { kind: "text", text: this.#file(path).text }, version });
  }

  isTrusted(): Promise<boolean> {
    return Promise.resolve(this.isLocal);
  }

  #version(ino: bigint, text: string): FileVersion {
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
    cache = createTextCache({ clock: () => files.nowMs, files });
  }

  /** One look at `paths`: what they say, and which of them were read for it. */
  async function look(...paths: readonly string[]): Promise<{ says: readonly string[]; read: readonly string[] }> {
    const texts = await cache.read(paths);
    return { says: [...texts.values()].map(say), read: files.reads.splice(0) };
  }

  function say(text: FileText): string {
    return text.kind === "text" ? text.text : text.kind;
  }

  beforeEach(() => use(new FakeFiles()));

  it("reads old files once, and answers the same object at every look after that", async () => {
    files.write("a", "one");
    files.write("b", "two");
    files.nowMs += 10_000;
    const first = await cache.read(["a", "b"]);
    expect([...first]).toEqual([
      ["a", { kind: "text", text: "one" }],
      ["b", { kind: "text", text: "two" }],
    ]);
    files.reads = [];
    for (let count = 0; count < 10; count++) {
      files.nowMs += 5000;
      expect(await cache.read(["a", "b"])).toBe(first);
    }
    expect([files.reads, files.looks]).toEqual([[], 20]);
  });

  it("reads only the file that was changed, and answers another object", async () => {
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

  it("reads a file again that was young, and rests when it is not any more", async () => {
    files.write("a", "one");
    const reads: number[] = [];
    for (const waitMs of [0, 1000, 999, 1, 5000]) {
      files.nowMs += waitMs;
      reads.push((await look("a")).read.length);
    }
    expect(reads).toEqual([1, 1, 1, 1, 0]);
  });

  it("sees what was written while it read the file, at the next look", async () => {
    files.write("a", "half");
    files.nowMs += 10_000;
    // What was read is the new text, under the old version.
    files.whileReading = () => files.write("a", "full");
    await cache.read(["a"]);
    files.nowMs += 10_000;
    files.reads = [];
    expect(await look("a")).toEqual({ says: ["full"], read: ["a"] });
  });

  it("sees another file in the place of one with the same size and times", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    await look("a");
    files.replace("a", "two");
    expect((await look("a")).says).toEqual(["two"]);
  });

  it("sees that a file becomes unreadable and readable, and asks anew each time while it is not", async () => {
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

  it("forgets a file that is gone, and reads it when it is back with the same version", async () => {
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

  it("reads every file at every look where the file system is not known to tell of changes", async () => {
    files.isLocal = false;
    files.write("a", "one");
    files.nowMs += 10_000;
    for (let count = 0; count < 3; count++) expect((await look("a")).read).toEqual(["a"]);
  });

  it("finds what no version tells within five minutes, and rests when there is nothing", async () => {
    files.write("a", "one");
    files.nowMs += 10_000;
    const first = await cache.read(["a"]);
    const file = files.files.get("a");
    if (file !== undefined) file.text = "two";
    files.nowMs += 299_999;
    expect((await look("a")).says).toEqual(["one"]);
    files.nowMs += 1;
    const second = await cache.read(["a"]);
    expect([...second.values()].map(say)).toEqual(["two"]);
    files.nowMs += 300_000;
    expect(await cache.read(["a"])).toBe(second);
    expect(second).not.toBe(first);
  });

  it.each([{ looks: 1 }, { looks: 5 }])(
    "reads every file when the clock was put back after $looks looks",
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
