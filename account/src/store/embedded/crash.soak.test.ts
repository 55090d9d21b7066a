import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, expect, it } from "vitest";
import { killUnderLoad } from "./crash.suite.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  folder.remove();
});

it("new EmbeddedUserStore() loses no acknowledged write when its process is killed 200 times under load", async () => {
  expect(await killUnderLoad(folder.path, 200)).toBeGreaterThan(200 * 40);
});
