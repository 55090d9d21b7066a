// Tests of directory-source.ts on real folders: the behaviour of every source, and that of folders.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import type { SourceState } from "../source.ts";
import {
  describeSource,
  keysOf,
  limitOf,
  type SourceFixture,
  watchSource,
  type WatchedSource,
} from "../source.suite.ts";
import { DirectorySource } from "./directory-source.ts";
import { readFileText } from "./read-manifest-file.ts";

// The real functions; their calls are counted.
vi.mock("./read-manifest-file.ts", { spy: true });

/** An interval that no test waits for: changes must be noticed by watching. */
const NEVER_MS = 3_600_000;

function newFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "weir-source-")));
}

/** A folder for the behaviour suite. */
function openFolder(write: (path: string, text: string) => void): SourceFixture {
  const folder = newFolder();
  return {
    write: (name, text) => write(join(folder, name), text),
    remove: (name) => unlinkSync(join(folder, name)),
    open: () =>
      new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: folder, pollIntervalMs: NEVER_MS }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

describeSource("folder, files written in place", () => openFolder((path, text) => writeFileSync(path, text)));

describeSource("folder, files replaced by renaming", () =>
  openFolder((path, text) => {
    writeFileSync(`${path}.tmp`, text);
    renameSync(`${path}.tmp`, path);
  }),
);

describe("DirectorySource.read()", () => {
  it.each([
    { files: "of other names", fileOf: (name: string, version: number) => `${name}${version}.yaml` },
    { files: "of the same names", fileOf: (name: string) => `${name}.yaml` },
  ])(
    "returns no half of a change while a link on the way is swapped again and again for a folder with files $files",
    async ({ fileOf }) => {
      const base = newFolder();
      const last = 60;
      const publish = (version: number): void => {
        mkdirSync(join(base, `v${version}`));
        // Between both, so that they are not read at the same moment.
        for (let filler = 0; filler < 40; filler++)
          writeFileSync(join(base, `v${version}`, `xx${filler}.yaml`), "# nothing\n");
        for (const name of ["x", "y"]) {
          writeFileSync(
            join(base, `v${version}`, fileOf(name, version)),
            manifest({ name: `${name}${version}`, domain: `${name}${version}` }),
          );
        }
        symlinkSync(`v${version}`, join(base, "next"));
        renameSync(join(base, "next"), join(base, "current"));
      };
      publish(0);
      const source = new DirectorySource(
        { log: silentLog(), clock: Date.now },
        { directory: join(base, "current"), pollIntervalMs: NEVER_MS },
      );
      await source.start();
      const states: string[] = [];
      for (let version = 1; version <= last; version++) {
        const reading = source.read();
        // At another step of the reading each time.
        for (let turns = version % 20; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
        publish(version);
        states.push((await reading).resources.map(({ name }) => name).join());
      }
      source.stop();
      rmSync(base, { recursive: true });
      expect(states.filter((names) => !/^x(\d+),y\1$/.test(names))).toEqual([]);
    },
  );
});

describe("DirectorySource.read()", () => {
  let folder: string;
  let watched: WatchedSource | undefined;

  /** Starts a source over the folder as it is. */
  async function watch(pollIntervalMs = NEVER_MS): Promise<WatchedSource> {
    watched = await watchSource({
      write: () => undefined,
      remove: () => undefined,
      close: () => undefined,
      open: () => new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: folder, pollIntervalMs }),
    });
    return watched;
  }

  function write(name: string, text: string): void {
    writeFileSync(join(folder, name), text);
  }

  beforeEach(() => {
    folder = newFolder();
  });

  afterEach(async () => {
    await watched?.source.stop();
    watched = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it("reads yaml, yml and json below the folder, in the order of paths, and nothing else", async () => {
    mkdirSync(join(folder, "team", "deep"), { recursive: true });
    mkdirSync(join(folder, "..hidden"));
    write(
      "c.json",
      JSON.stringify({
        apiVersion: "ratelimit.weir.dev/v1alpha1",
        kind: "RateLimitConfig",
        metadata: { name: "c" },
        spec: { domain: "c" },
      }),
    );
    write("team/deep/b.yml", manifest({ name: "b", domain: "beta" }));
    write("a.yaml", `${manifest({ name: "a1", domain: "a1" })}---\n${manifest({ name: "a2", domain: "a2" })}`);
    write("README.md", "# not a manifest");
    write("..hidden/h.yaml", manifest({ name: "h", domain: "hidden" }));
    write("..h.yaml", manifest({ name: "h", domain: "hidden" }));
    const { source } = await watch();
    const state = await source.read();
    expect(state.resources.map(({ name, place }) => [name, place])).toEqual([
      ["a1", { file: join(folder, "a.yaml"), line: 1, column: 1 }],
      ["a2", { file: join(folder, "a.yaml"), line: 13, column: 1 }],
      ["c", { file: join(folder, "c.json"), line: 1, column: 1 }],
      ["b", { file: join(folder, "team/deep/b.yml"), line: 1, column: 1 }],
    ]);
    expect(state.refusals).toEqual([]);
  });

  it("sees every version of a mounted ConfigMap when ..data is swapped", async () => {
    const mount = (version: number, limit: number): void => {
      mkdirSync(join(folder, `..v${version}`));
      write(`..v${version}/a.yaml`, manifest({ name: "a", domain: "alpha", requestsPerUnit: limit }));
      symlinkSync(`..v${version}`, join(folder, "..data_tmp"));
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    };
    mount(1, 1);
    symlinkSync("..data/a.yaml", join(folder, "a.yaml"));
    const { source, until } = await watch();
    expect(keysOf(await source.read())).toEqual(["default/a"]);
    for (const version of [2, 3]) {
      mount(version, version * 10);
      rmSync(join(folder, `..v${version - 1}`), { recursive: true });
      const state = await until(`version ${version}`, (now) => limitOf(now, "default/a") === version * 10);
      expect([keysOf(state), state.refusals]).toEqual([["default/a"], []]);
    }
  });

  it("sees a change of a file that a link leads to", async () => {
    const elsewhere = newFolder();
    writeFileSync(join(elsewhere, "shared.yaml"), manifest({ name: "a", domain: "alpha", requestsPerUnit: 1 }));
    symlinkSync(join(elsewhere, "shared.yaml"), join(folder, "a.yaml"));
    const { until } = await watch();
    writeFileSync(join(elsewhere, "shared.yaml"), manifest({ name: "a", domain: "alpha", requestsPerUnit: 2 }));
    await until("the change", (state) => limitOf(state, "default/a") === 2);
    rmSync(elsewhere, { recursive: true });
  });

  it("sees another version when a link on the way to the folder is swapped", async () => {
    const root = folder;
    for (const version of [1, 2]) {
      mkdirSync(join(root, `v${version}`, "limits"), { recursive: true });
      write(`v${version}/limits/a.yaml`, manifest({ name: "a", domain: "alpha", requestsPerUnit: version }));
    }
    symlinkSync("v1", join(root, "current"));
    folder = join(root, "current", "limits");
    const { until } = await watch();
    symlinkSync("v2", join(root, "next"));
    renameSync(join(root, "next"), join(root, "current"));
    const state = await until("the second version", (now) => limitOf(now, "default/a") === 2);
    expect(state.resources[0]?.place.file).toBe(join(folder, "a.yaml"));
    folder = root;
  });

  it("takes the age from the creation timestamp when there is one, and has none otherwise", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha" }));
    write("b.yaml", manifest({ name: "b", domain: "beta", created: '"2026-01-31T12:00:00Z"' }));
    const state = await (await watch()).source.read();
    expect(state.resources.map(({ createdMs }) => createdMs)).toEqual([0, Date.UTC(2026, 0, 31, 12)]);
  });

  it("reports line and column of an invalid field", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha", unit: "fortnight" }));
    const state = await (await watch()).source.read();
    expect(state.refusals).toMatchObject([
      {
        field: "spec.descriptors[0].rateLimit.unit",
        keepsLastGood: false,
        place: { file: join(folder, "a.yaml"), line: 10, column: 15 },
      },
    ]);
  });

  it("reports a problem while the folder is missing, and none when it is back", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha" }));
    const { source } = await watch();
    renameSync(folder, `${folder}.away`);
    await expect(source.read()).rejects.toThrow("it does not exist");
    expect(source.condition().problem).toContain(`Cannot read the folder ${folder}: it does not exist`);
    renameSync(`${folder}.away`, folder);
    await source.read();
    expect(source.condition().problem).toBeUndefined();
  });

  it("reads a folder once when a link inside it leads back to it", async () => {
    mkdirSync(join(folder, "team"));
    write("team/a.yaml", manifest({ name: "a", domain: "alpha" }));
    symlinkSync(folder, join(folder, "team", "loop"));
    expect(keysOf(await (await watch()).source.read())).toEqual(["default/a"]);
  });

  it("sees files in a folder that is made later, and that it is gone", async () => {
    const { until } = await watch();
    mkdirSync(join(folder, "team"));
    write("team/a.yaml", manifest({ name: "a", domain: "alpha" }));
    await until("a comes", (state) => keysOf(state).includes("default/a"));
    write("team/a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 9 }));
    await until("a changes", (state) => limitOf(state, "default/a") === 9);
    rmSync(join(folder, "team"), { recursive: true });
    await until("a goes", (state) => state.resources.length === 0);
  });

  it("notices a change without an event at the next interval", async () => {
    const elsewhere = newFolder();
    mkdirSync(join(elsewhere, "v1"));
    mkdirSync(join(elsewhere, "v2"));
    writeFileSync(join(elsewhere, "v1", "a.yaml"), manifest({ name: "a", domain: "alpha", requestsPerUnit: 1 }));
    writeFileSync(join(elsewhere, "v2", "a.yaml"), manifest({ name: "a", domain: "alpha", requestsPerUnit: 2 }));
    symlinkSync("v1", join(elsewhere, "current"));
    // The swap happens in a folder that is on the way to the file and not watched.
    symlinkSync(join(elsewhere, "current", "a.yaml"), join(folder, "a.yaml"));
    const { until } = await watch(50);
    symlinkSync("v2", join(elsewhere, "next"));
    renameSync(join(elsewhere, "next"), join(elsewhere, "current"));
    await until("the change", (state) => limitOf(state, "default/a") === 2);
    rmSync(elsewhere, { recursive: true });
  });

  it("reads no file while nothing changes, and exactly those that have changed", async () => {
    const elsewhere = newFolder();
    for (const version of [1, 2]) {
      mkdirSync(join(elsewhere, `v${version}`));
      writeFileSync(
        join(elsewhere, `v${version}`, "linked.yaml"),
        manifest({ name: "linked", domain: "linked", requestsPerUnit: version }),
      );
    }
    symlinkSync("v1", join(elsewhere, "current"));
    symlinkSync(join(elsewhere, "current", "linked.yaml"), join(folder, "linked.yaml"));
    for (let index = 0; index < 20; index++)
      write(`${index}.yaml`, manifest({ name: `n${index}`, domain: `d${index}`, requestsPerUnit: 1 }));
    const { source } = await watch();
    const look = async (): Promise<{ state: SourceState; read: readonly string[] }> => {
      vi.mocked(readFileText).mockClear();
      const state = await source.read();
      return { state, read: vi.mocked(readFileText).mock.calls.map(([path]) => path.slice(folder.length + 1)) };
    };
    const rest = (): Promise<void> => eventually("rest", async () => expect((await look()).read).toEqual([]));
    const changes: readonly { file: string; change: () => void; limit: number }[] = [
      {
        file: "3.yaml",
        change: () => write("3.yaml", manifest({ name: "n3", domain: "d3", requestsPerUnit: 2 })),
        limit: 2,
      },
      {
        file: "3.yaml",
        change: () => {
          // Of the same size, under the modification time that the other one has.
          write("new", manifest({ name: "n3", domain: "d3", requestsPerUnit: 3 }));
          utimesSync(join(folder, "new"), new Date(0), new Date(0));
          utimesSync(join(folder, "3.yaml"), new Date(0), new Date(0));
          renameSync(join(folder, "new"), join(folder, "3.yaml"));
        },
        limit: 3,
      },
      {
        file: "linked.yaml",
        change: () => {
          symlinkSync("v2", join(elsewhere, "next"));
          renameSync(join(elsewhere, "next"), join(elsewhere, "current"));
        },
        limit: 2,
      },
      { file: "4.yaml", change: () => chmodSync(join(folder, "4.yaml"), 0o400), limit: 1 },
    ];
    for (const { file, change, limit } of changes) {
      await rest();
      change();
      const { state, read } = await look();
      expect(read).toEqual([file]);
      expect(limitOf(state, `default/${file === "linked.yaml" ? "linked" : `n${Number.parseInt(file)}`}`)).toBe(limit);
    }
    rmSync(elsewhere, { recursive: true });
  });

  it("reads at intervals until it has stopped, and reports nothing while nothing changes", async () => {
    const { source, calls } = await watch(10);
    const [before, startedMs] = [calls(), Date.now()];
    const syncedMs = (): number => source.condition().syncedMs ?? 0;
    await eventually("reads", () => expect(syncedMs()).toBeGreaterThan(startedMs + 50));
    await source.stop();
    await source.read(); // Ends after those that were under way.
    const stoppedMs = syncedMs();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([syncedMs(), calls()]).toEqual([stoppedMs, before]);
  });

  it("keeps the resources of a file that becomes too large, not text or broken YAML, and drops them when the file is gone", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha" }));
    const { until } = await watch();
    const expectKept = async (message: string): Promise<void> => {
      const state = await until(message, ({ refusals }) => refusals[0]?.message === message);
      expect([keysOf(state), state.refusals[0]?.keepsLastGood]).toEqual([["default/a"], true]);
    };
    write("a.yaml", `# ${"x".repeat(1024 * 1024)}`);
    await expectKept("the file has 1048578 bytes, at most 1048576 are read");
    writeFileSync(join(folder, "a.yaml"), Buffer.from([0xff, 0xfe, 0x00]));
    await expectKept("the file is not UTF-8 text");
    write("a.yaml", "spec: [");
    await until("the syntax error", ({ refusals }) => refusals[0]?.message.startsWith("not valid YAML") === true);
    unlinkSync(join(folder, "a.yaml"));
    mkdirSync(join(folder, "a.yaml"));
    await until("nothing", (state) => state.resources.length === 0 && state.refusals.length === 0);
  });

  it.each([
    { target: "missing.txt", when: "its target is gone" },
    { target: "a.yaml", when: "it leads back to itself" },
    { target: "other.txt/a.yaml", when: "a file is in its way" },
  ])(
    "keeps the resources of a link and reports the problem when $when, and drops them when the link is gone",
    async ({ target }) => {
      write("other.txt", manifest({ name: "a", domain: "alpha" }));
      symlinkSync("other.txt", join(folder, "a.yaml"));
      const { until } = await watch();
      symlinkSync(target, join(folder, "next"));
      renameSync(join(folder, "next"), join(folder, "a.yaml"));
      const state = await until("the refusal", ({ refusals }) => refusals.length > 0);
      expect(state.refusals).toMatchObject([{ message: "the link leads nowhere", keepsLastGood: true }]);
      expect(keysOf(state)).toEqual(["default/a"]);
      unlinkSync(join(folder, "a.yaml"));
      await until("nothing", (now) => now.resources.length === 0 && now.refusals.length === 0);
    },
  );

  it("reports a file whose name is not UTF-8 instead of skipping it", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha" }));
    writeFileSync(Buffer.from(`${folder}/b\xff.yaml`, "latin1"), manifest({ name: "b", domain: "beta" }));
    const state = await (await watch()).source.read();
    expect(keysOf(state)).toEqual(["default/a"]);
    expect(state.refusals).toMatchObject([
      { message: "the name of the file is not UTF-8 text", place: { file: join(folder, "b\ufffd.yaml") } },
    ]);
  });

  it("names the folder when it is missing or not a folder", async () => {
    const missing = join(folder, "missing");
    write("file", "");
    const open = (directory: string): Promise<unknown> =>
      new DirectorySource({ log: silentLog(), clock: Date.now }, { directory }).read();
    await expect(open(missing)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: `Cannot read the folder ${missing}: it does not exist`,
    });
    await expect(open(join(folder, "file"))).rejects.toMatchObject({
      message: `Cannot read the folder ${join(folder, "file")}: it is not a folder`,
    });
  });

  it("fails rather than return a part when folders nest too deep", async () => {
    write("a.yaml", manifest({ name: "a", domain: "alpha" }));
    let deep = folder;
    for (let depth = 0; depth < 33; depth += 1) {
      deep = join(deep, "d");
      mkdirSync(deep);
    }
    const source = new DirectorySource({ log: silentLog(), clock: Date.now }, { directory: folder });
    await expect(source.read()).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("nests deeper than 32 folders") as string,
    });
  });
});
