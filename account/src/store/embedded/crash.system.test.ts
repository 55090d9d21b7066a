import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { backUp } from "./backup.ts";
import { acknowledgedBy, findLost, killUnderLoad, readRecords, startLoad } from "./crash.suite.ts";

/** For twenty starts and kills, 15 s on an idle machine, in milliseconds. */
const KILLS_TIMEOUT_MS = 180_000;

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  folder.remove();
});

describe("new EmbeddedUserStore()", () => {
  it(
    "loses no acknowledged write when its process is killed 20 times under load",
    { timeout: KILLS_TIMEOUT_MS },
    async () => {
      expect(await killUnderLoad(folder.path, 20)).toBeGreaterThan(20 * 40);
    },
  );
});

describe("backUp()", () => {
  it("copies every write that was acknowledged before, while another process writes", async () => {
    const load = startLoad(folder.path);
    const file = join(folder.path, "copy.sqlite");
    try {
      await eventually("writes", () => expect(acknowledgedBy(load).length).toBeGreaterThan(300));
      const before = acknowledgedBy(load);
      const { users } = await backUp(folder.path, file);
      const records = readRecords(folder.path, file);
      expect(records.size).toBe(users);
      // Kept users stay; of the others the later writes may be in the copy too.
      const kept = new Map(before.filter(([id]) => id.startsWith("kept")));
      expect(findLost(kept, records)).toEqual([]);
      await eventually("writes to continue", () => expect(acknowledgedBy(load).length).toBeGreaterThan(before.length));
    } finally {
      await load.end();
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path).filter((name) => name.startsWith("copy"))).toEqual(["copy.sqlite"]);
  });
});
