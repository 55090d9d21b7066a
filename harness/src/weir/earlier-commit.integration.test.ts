import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { earlierFiles, previousVersion } from "./earlier-commit.ts";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

describe("earlierFiles()", () => {
  let cache: ReturnType<typeof makeTemporaryFolder>;

  beforeEach(() => {
    cache = makeTemporaryFolder();
  });

  afterEach(() => cache.remove());

  it("throws and leaves nothing when the repository does not have the commit", async () => {
    const files = earlierFiles("no-such-commit", { root: ROOT, env: { XDG_CACHE_HOME: cache.path } });
    await expect(files).rejects.toThrow(
      "Cannot find 'no-such-commit': this repository has no such commit; fetch it first",
    );
    expect(readdirSync(cache.path)).toEqual([]);
  });

  it("extracts the charts of the previous version once, also for two that ask at the same time", async () => {
    const options = { root: ROOT, env: { XDG_CACHE_HOME: cache.path }, path: "charts" };
    const commit = await previousVersion(ROOT);
    const [first, second] = await Promise.all([earlierFiles(commit, options), earlierFiles(commit, options)]);
    expect(second).toEqual(first);
    expect(readFileSync(join(first.folder, "charts/weir/Chart.yaml"), "utf8")).toContain("name: weir\n");
    expect(existsSync(join(first.folder, "package.json"))).toBe(false);
    expect(readdirSync(join(cache.path, "weir"))).toEqual([`commit-${first.hash.slice(0, 12)}-charts`]);
  });
});
