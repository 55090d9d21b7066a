import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";
import { buildEarlier } from "./earlier-build.ts";

describe("buildEarlier()", () => {
  it("throws and leaves nothing when the repository does not have the commit", async () => {
    const folder = makeTemporaryFolder();
    try {
      const options = {
        root: join(import.meta.dirname, "..", "..", ".."),
        env: { XDG_CACHE_HOME: folder.path },
        say: () => undefined,
      };
      await expect(buildEarlier("no-such-commit", options)).rejects.toMatchObject({
        message: "Cannot find 'no-such-commit': this repository has no such commit; fetch it first",
      });
      expect(readdirSync(folder.path)).toEqual([]);
    } finally {
      folder.remove();
    }
  });
});
