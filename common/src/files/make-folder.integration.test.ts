// Tests of make-folder.ts on real file systems.
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { makeFolder } from "./make-folder.ts";

describe("makeFolder()", () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "weir-make-folder-"));
  });

  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function modeOf(path: string): number {
    return statSync(path).mode & 0o777;
  }

  it("makes a folder with all that is missing around it, in the mode that is wanted, and leaves alone what is there", () => {
    mkdirSync(join(root, "a"), { mode: 0o755 });
    for (let count = 0; count < 2; count++) makeFolder(join(root, "a", "b", "c"), { mode: 0o700 });
    expect(["a", "a/b", "a/b/c"].map((path) => modeOf(join(root, path)))).toEqual([0o755, 0o700, 0o700]);
  });

  it("takes relative paths, slashes at the end, and links that lead to a folder", () => {
    makeFolder(`${relative(process.cwd(), root)}/x/../y/`);
    symlinkSync("y", join(root, "link"));
    makeFolder(join(root, "link"));
    makeFolder(join(root, "link", "z"));
    expect(statSync(join(root, "y", "z")).isDirectory()).toBe(true);
  });

  it.each([
    { where: "a file has the name", path: "file", failing: "file", reason: "something else has its name" },
    {
      where: "a link to nowhere has the name",
      path: "nowhere",
      failing: "nowhere",
      reason: "something else has its name",
    },
    { where: "a link to itself has the name", path: "loop", failing: "loop", reason: "something else has its name" },
    { where: "a file is in the way", path: "file/a/b", failing: "file/a/b", reason: "ROOT/file/a is not a folder" },
    {
      where: "a link on the way leads nowhere",
      path: "nowhere/a",
      failing: "nowhere",
      reason: "something else has its name",
    },
  ])("says so when $where", ({ path, failing, reason }) => {
    writeFileSync(join(root, "file"), "");
    symlinkSync("missing", join(root, "nowhere"));
    symlinkSync("loop", join(root, "loop"));
    expect(() => makeFolder(join(root, path))).toThrow(
      expect.objectContaining({
        code: "FOLDER_UNUSABLE",
        message: `Cannot make the folder ${join(root, failing)}: ${reason.replace("ROOT", root)}`,
      }),
    );
  });

  it("ends where a file system allows no folder to be made", () => {
    expect(() => makeFolder("/proc/x/y/z")).toThrow("Cannot make the folder /proc/x: no folder can be made in /proc");
  });
});
