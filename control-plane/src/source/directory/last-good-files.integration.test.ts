// Tests of last-good-files.ts with real files, and of a source that keeps its revisions in them.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { type LastGoodRevisions, resourceKey, type SourceState } from "../source.ts";
import { limitOf } from "../source.suite.ts";
import { boundNamespaces } from "../bound-namespaces.ts";
import { DirectorySource } from "./directory-source.ts";
import { LastGoodFiles } from "./last-good-files.ts";

/** The current revisions of a state, as the control plane keeps them. */
function revisionsOf({ resources }: SourceState): readonly LastGoodRevisions[] {
  return resources.map(({ namespace, name, place, resource, lastGood = [] }) => ({
    namespace,
    name,
    file: place.file,
    revisions: [resource, ...lastGood],
  }));
}

describe("DirectorySource with STATE_DIRECTORY", () => {
  let root: string;
  let manifests: string;
  let stateDirectory: string;

  /** Starts a source, reads it, and keeps what it has read. */
  async function run(): Promise<SourceState> {
    const source = new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: manifests, stateDirectory });
    await source.start();
    const state = await source.read();
    await source.keepLastGood?.(revisionsOf(state));
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
  ])("serves the revision from before the start when the manifest is $what", async ({ text, resource }) => {
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

  it("hands the revision over next to a present one, and forgets it with its resource", async () => {
    await run();
    write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 7 }));
    const state = await run();
    const present = state.resources.find((each) => resourceKey(each) === "default/a");
    expect(present?.resource.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit).toBe(7);
    expect(present?.lastGood?.[0]?.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit).toBe(5);
    rmSync(join(manifests, "a.yaml"));
    expect((await run()).resources.map(resourceKey)).toEqual(["team/b"]);
    expect(readdirSync(stateDirectory)).toHaveLength(1);
  });

  it("does not bring a deleted resource back when its file breaks later", async () => {
    const text = manifest({ name: "c", domain: "gamma" });
    write("a.yaml", `${manifest({ name: "a", domain: "alpha" })}---\n${text}`);
    await run();
    const source = new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: manifests, stateDirectory });
    await source.start();
    expect((await source.read()).resources.map(resourceKey)).toContain("default/a");
    write("a.yaml", text);
    expect((await source.read()).resources.map(resourceKey)).toEqual(["default/c", "team/b"]);
    write("a.yaml", "a: [");
    const { resources } = await source.read();
    source.stop();
    expect(resources.map(resourceKey)).toEqual(["default/c", "team/b"]);
  });

  it("hands over no revision from before its deletion to a resource that is created again", async () => {
    await run();
    const source = new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: manifests, stateDirectory });
    await source.start();
    rmSync(join(manifests, "a.yaml"));
    await source.read();
    write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 7 }));
    const { resources } = await source.read();
    source.stop();
    expect(resources.find((each) => resourceKey(each) === "default/a")?.lastGood).toBeUndefined();
  });

  it("keeps the revisions while the folder is empty, which may be an accident", async () => {
    await run();
    const texts = ["a.yaml", "b.yaml"].map((name) => [name, readFileSync(join(manifests, name), "utf8")] as const);
    const source = new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: manifests, stateDirectory });
    await source.start();
    for (const [name] of texts) rmSync(join(manifests, name));
    expect((await source.read()).resources).toEqual([]);
    for (const [name, text] of texts) write(name, name === "a.yaml" ? "a: [" : text);
    const state = await source.read();
    source.stop();
    expect(limitOf(state, "default/a")).toBe(5);
  });

  it("does not bring a resource back that is beyond the bound of its namespace", async () => {
    const state = await run();
    const files = new LastGoodFiles(stateDirectory, silentLog());
    await files.open();
    expect(files.complete(boundNamespaces(state, 0)).resources).toEqual([]);
  });

  it("serialises only the resources whose revisions have changed", async () => {
    const kept = revisionsOf(await run());
    const files = new LastGoodFiles(stateDirectory, silentLog());
    await files.open();
    await files.keep(kept);
    const stringify = vi.spyOn(JSON, "stringify");
    try {
      await files.keep(kept.map((resource) => ({ ...resource, revisions: [...resource.revisions] })));
      expect(stringify).not.toHaveBeenCalled();
      await files.keep(kept.map((resource, index) => (index === 0 ? { ...resource, file: "moved.yaml" } : resource)));
      expect(stringify).toHaveBeenCalled();
    } finally {
      stringify.mockRestore();
    }
  });

  it("keeps the six newest revisions of a resource, each once", async () => {
    for (const requestsPerUnit of [1, 2, 3, 4, 5, 6, 7, 7]) {
      write("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit }));
      await run();
    }
    write("a.yaml", "a: [");
    const state = await run();
    const [restored] = state.resources.filter((each) => each.isLastGood);
    const limits = [restored?.resource, ...(restored?.lastGood ?? [])].map(
      (revision) => revision?.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit,
    );
    expect(limits).toEqual([7, 6, 5, 4, 3, 2]);
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
      message: expect.stringContaining("Cannot keep last good revisions in STATE_DIRECTORY: ") as string,
    });
  });

  it("continues, with a warning, when a revision cannot be written later, and writes it when it can be", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "warn", format: "json", write: (line) => lines.push(line) });
    const source = new DirectorySource({ log, clock: Date.now }, { directory: manifests, stateDirectory });
    await source.start();
    const revisions = revisionsOf(await source.read());
    rmSync(stateDirectory, { recursive: true });
    await source.keepLastGood?.(revisions);
    expect(lines.join("")).toContain("Cannot keep last good revisions");
    mkdirSync(stateDirectory);
    await source.keepLastGood?.(revisions);
    source.stop();
    expect(readdirSync(stateDirectory)).toHaveLength(2);
  });
});
