// Tests of the bounds of scan-folder.ts. Its findings are tested by the source that reads them.
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

  it("finds as many files as are allowed, other files not counted, and takes none of one more for the whole", async () => {
    for (let team = 0; team < 10; team++) {
      mkdirSync(join(folder, `team-${team}`));
      for (let index = 0; index < 10; index++) writeFileSync(join(folder, `team-${team}`, `${index}.yaml`), "");
    }
    writeFileSync(join(folder, "README.md"), "");
    const { files, folders } = await scanFolder(folder, 100);
    expect([files.length, folders.length]).toEqual([100, 11]);
    writeFileSync(join(folder, "z.yaml"), "");
    await expect(scanFolder(folder, 100)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: `Cannot read the folder ${folder}: it holds more than 100 files`,
    });
    rmSync(join(folder, "team-3", "7.yaml"));
    expect((await scanFolder(folder, 100)).files).toHaveLength(100);
  });
});
