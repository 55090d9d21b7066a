// Tests of last-good-files.ts with real files, and of a source that keeps its forms in them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "../../assemble/manifests.suite.ts";
import { resourceKey, type SourceState } from "../source.ts";
import { limitOf } from "../source.suite.ts";
import { DirectorySource } from "./directory-source.ts";

describe("DirectorySource with STATE_DIRECTORY", () => {
  let root: string;
  let manifests: string;
  let stateDirectory: string;

  /** Starts a source, reads it, and keeps what it has read. */
  async function run(): Promise<SourceState> {
    const source = new DirectorySource(
      { log: silentLog(), listener: { changed: () => undefined }, clock: Date.now },
      { directory: manifests, stateDirectory },
    );
    await source.start();
    const state = await source.read();
    await source.keepLastGood?.(state.resources);
    source.stop();
    return state;
  }

  function write(name: string, text: string): void {
    writeFileSync(join(manifests, name), text);
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "weir-state-"));
    manifests = join(root, "manifests");
    stateDirectory = join(root, "deep", "state");
    mkdirSync(manifests);
    write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 5, created: "2026-01-01T00:00:00Z" }));
    write("b.yaml", manifest({ name: "b", domain: "beta", namespace: "team" }));
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it.each([
    { what: "a wrong field", text: manifest({ name: "a", domain: "alpha", unit: "fortnight" }), resource: "default/a" },
    { what: "no YAML", text: "a: [", resource: undefined },
    { what: "no text", text: "", resource: undefined },
  ])("serves the form from before the start when the manifest is $what", async ({ text, resource }) => {
    await run();
    write("a.yaml", text);
    for (let start = 0; start < 2; start += 1) {
      const state = await run();
      expect([limitOf(state, "default/a"), limitOf(state, "team/b")]).toEqual([5, 5]);
      const restored = state.resources.find((each) => resourceKey(each) === "default/a");
      expect(restored).toMatchObject({ isLastGood: true, createdMs: Date.parse("2026-01-01T00:00:00Z") });
      expect(state.refusals).toMatchObject([{ resource, keepsLastGood: true }]);
    }
  });

  it("hands the form over next to a present one, and forgets it with its resource", async () => {
    await run();
    write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 7 }));
    const state = await run();
    const present = state.resources.find((each) => resourceKey(each) === "default/a");
    expect(present?.resource.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit).toBe(7);
    expect(present?.lastGood?.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit).toBe(5);
    rmSync(join(manifests, "a.yaml"));
    expect((await run()).resources.map(resourceKey)).toEqual(["team/b"]);
    expect(readdirSync(stateDirectory)).toHaveLength(1);
  });

  it("ignores files that are broken or not its own, and leaves the latter", async () => {
    await run();
    for (const name of readdirSync(stateDirectory)) writeFileSync(join(stateDirectory, name), "{");
    writeFileSync(join(stateDirectory, "README"), "notes");
    write("a.yaml", "a: [");
    expect((await run()).resources.map(resourceKey)).toEqual(["team/b"]);
    expect(existsSync(join(stateDirectory, "README"))).toBe(true);
  });

  it("does not start when the folder cannot be used", async () => {
    writeFileSync(join(root, "deep"), "a file");
    await expect(run()).rejects.toMatchObject({
      code: "STATE_UNUSABLE",
      message: expect.stringContaining("Cannot keep last good forms in STATE_DIRECTORY: ") as string,
    });
  });

  it("continues, with a warning, when a form cannot be written later, and writes it when it can be", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "warn", format: "json", write: (line) => lines.push(line) });
    const source = new DirectorySource(
      { log, listener: { changed: () => undefined }, clock: Date.now },
      { directory: manifests, stateDirectory },
    );
    await source.start();
    const { resources } = await source.read();
    rmSync(stateDirectory, { recursive: true });
    await source.keepLastGood?.(resources);
    expect(lines.join("")).toContain("Cannot keep last good forms");
    mkdirSync(stateDirectory);
    await source.keepLastGood?.(resources);
    source.stop();
    expect(readdirSync(stateDirectory)).toHaveLength(2);
  });
});
