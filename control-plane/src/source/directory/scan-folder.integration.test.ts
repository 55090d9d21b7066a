// Tests of the bounds of scan-folder.ts. What it finds is tested by the source that reads it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { scanFolder } from "./scan-folder.ts";

describe("scanFolder()", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "weir-scan-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it("finds 10,000 files, other files not counted, and takes none of one more for the whole", async () => {
    for (let team = 0; team < 10; team++) {
      mkdirSync(join(folder, `team-${team}`));
      for (let index = 0; index < 1000; index++) writeFileSync(join(folder, `team-${team}`, `${index}.yaml`), "");
    }
    writeFileSync(join(folder, "README.md"), "");
    const { files, folders } = await scanFolder(folder);
    expect([files.length, folders.length]).toEqual([10_000, 11]);
    writeFileSync(join(folder, "z.yaml"), "");
    await expect(scanFolder(folder)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: `Cannot read the folder ${folder}: it holds more than 10000 files`,
    });
    rmSync(join(folder, "team-3", "7.yaml"));
    expect((await scanFolder(folder)).files).toHaveLength(10_000);
  });
});
