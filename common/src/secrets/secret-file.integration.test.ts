// Real files that change in the ways in which secrets change.
import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createLog } from "../log/log.ts";
import { SecretFile } from "./secret-file.ts";

/** Longest wait for a change to be noticed, in milliseconds. */
const DEADLINE_MS = 40_000;

describe("SecretFile", () => {
  let folder: string;
  let path: string;
  let lines: string[];
  let file: SecretFile;
  let changes: string[];

  const write = (value: string): void => {
    writeFileSync(join(folder, "next"), value);
    renameSync(join(folder, "next"), path);
  };
  const seen = async (value: string): Promise<void> => {
    const deadlineMs = performance.now() + DEADLINE_MS;
    while (file.current() !== value && performance.now() < deadlineMs) await delay(5);
    expect(file.current()).toBe(value);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "weir-secret-file-"));
    path = join(folder, "password");
    lines = [];
    changes = [];
    const log = createLog({ level: "info", format: "text", write: (line) => void lines.push(line) });
    write("one\n");
    file = new SecretFile({ path, value: "one" }, { log }, { pollIntervalMs: 50 });
    file.onChange(() => changes.push(file.current()));
    file.start();
  });
  afterEach(() => {
    file.stop();
    rmSync(folder, { recursive: true });
  });

  it("follows a file that is replaced, without the line end", async () => {
    write("two\r\n");
    await seen("two");
    expect(changes).toEqual(["two"]);
  });

  it("follows a link whose target is swapped", async () => {
    const link = (target: string): void => {
      writeFileSync(join(folder, target), target);
      symlinkSync(target, join(folder, "link"));
      renameSync(join(folder, "link"), path);
    };
    link("three");
    await seen("three");
    link("four");
    await seen("four");
  });

  it("keeps the value while the file is empty or gone, and says so once", async () => {
    const warnings = (): number => lines.filter((line) => line.includes("Cannot use the changed secret")).length;
    write("");
    await expect.poll(warnings, { timeout: DEADLINE_MS }).toBe(1);
    unlinkSync(path);
    await expect.poll(warnings, { timeout: DEADLINE_MS }).toBe(2);
    await delay(200); // Several looks at the file on a machine that is not busy.
    expect([file.current(), changes]).toEqual(["one", []]);
    write("five");
    await seen("five");
    expect(warnings()).toBe(2);
    expect(lines.join("")).not.toMatch(/five|one"/);
  });

  it("reload() reads the file now", () => {
    file.stop();
    write("six");
    file.reload();
    expect(file.current()).toBe("six");
  });
});
