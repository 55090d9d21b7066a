import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createLog, silentLog } from "../log/log.ts";
import { FolderWatch } from "./folder-watch.ts";

/** How long an event may take to come, in milliseconds. */
const EVENT_DEADLINE_MS = 30_000;

describe("FolderWatch", () => {
  let root: string;
  let changes: number;
  let watch: FolderWatch;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "weir-folder-watch-"));
    changes = 0;
    watch = new FolderWatch({ log: silentLog(), changed: () => changes++ });
  });

  afterEach(() => {
    watch.close();
    rmSync(root, { recursive: true });
  });

  async function expectChangeAfter(act: () => void): Promise<void> {
    const before = changes;
    act();
    await vi.waitFor(() => expect(changes).toBeGreaterThan(before), { timeout: EVENT_DEADLINE_MS });
  }

  it("reports a file that is written, renamed over and removed", async () => {
    watch.watch([root]);
    const file = join(root, "limits.yaml");
    await expectChangeAfter(() => writeFileSync(file, "a"));
    await expectChangeAfter(() => {
      writeFileSync(`${file}.new`, "b");
      renameSync(`${file}.new`, file);
    });
    await expectChangeAfter(() => rmSync(file));
  });

  it("watch() says whether a folder was not watched before, also when it watches anew", () => {
    const inner = join(root, "inner");
    mkdirSync(inner);
    expect(watch.watch([root])).toBe(true);
    expect(watch.watch([root])).toBe(false);
    expect(watch.watch([root], { renew: true })).toBe(false);
    expect(watch.watch([root, inner])).toBe(true);
  });

  it("watch() with renew sees changes in a folder that replaced the watched one", async () => {
    const folder = join(root, "config");
    mkdirSync(folder);
    watch.watch([folder]);
    renameSync(folder, join(root, "old"));
    mkdirSync(folder);
    watch.watch([folder], { renew: true });
    await expectChangeAfter(() => writeFileSync(join(folder, "limits.yaml"), "a"));
  });

  it("watch() passes over a folder that is not there and takes it once it is", async () => {
    const folder = join(root, "later");
    expect(watch.watch([folder])).toBe(false);
    mkdirSync(folder);
    expect(watch.watch([folder])).toBe(true);
    await expectChangeAfter(() => writeFileSync(join(folder, "limits.yaml"), "a"));
  });

  it("watch() logs once at debug that a folder does not exist", () => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", format: "text", write: (line) => lines.push(line) });
    const other = new FolderWatch({ log, changed: () => changes++ });
    other.watch([join(root, "nowhere")]);
    other.watch([join(root, "nowhere")]);
    other.close();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("level=debug");
  });

  it("close() ends the notifications", async () => {
    const other = new FolderWatch({ log: silentLog(), changed: () => changes++ });
    let closedChanges = 0;
    const closed = new FolderWatch({ log: silentLog(), changed: () => closedChanges++ });
    closed.watch([root]);
    closed.close();
    other.watch([root]);
    await expectChangeAfter(() => writeFileSync(join(root, "limits.yaml"), "a"));
    other.close();
    expect(closedChanges).toBe(0);
  });
});
