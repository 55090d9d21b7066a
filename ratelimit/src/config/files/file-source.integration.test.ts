import { existsSync, renameSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, type Log } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { describeConfigSource, RecordingListener } from "../config-source.suite.ts";
import { FileSource, type FileSourceOptions } from "./file-source.ts";

const silent: Log = createLog({ level: "error", format: "json", write: () => undefined });

function rules(domain: string): string {
  return `domain: ${domain}\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]\n`;
}

let base: string;
let source: ConfigSource | undefined;
let listener: RecordingListener;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "weir-files-"));
  listener = new RecordingListener();
  lines = [];
});

afterEach(async () => {
  await source?.stop();
  source = undefined;
  await rm(base, { recursive: true, force: true });
});

/** Starts a source on the folder `config` below `root`. */
async function start(options: Partial<FileSourceOptions>): Promise<void> {
  const log = createLog({
    level: "info",
    format: "json",
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const defaults = {
    root: join(base, "root"),
    subdirectory: "",
    appDirectory: "config",
    ignoreDotFiles: false,
    watchRoot: false,
  };
  source = new FileSource({ listener, log }, { ...defaults, ...options });
  await source.start();
}

/** Writes a file, which appears as a whole. */
async function write(path: string, text: string): Promise<void> {
  await mkdir(join(base, path, ".."), { recursive: true });
  const staging = `${base}-staging`;
  await writeFile(staging, text);
  await rename(staging, join(base, path));
}

/**
 * Resolves when a source that started later has loaded files that only its polls notice: a source
 * that polls as often has polled, too.
 */
async function pollOfAnotherSource(pollIntervalMs: number): Promise<void> {
  const later = new RecordingListener();
  const root = join(base, "later");
  const other = new FileSource(
    { listener: later, log: silent },
    { root, subdirectory: "", appDirectory: "config", ignoreDotFiles: false, watchRoot: true, pollIntervalMs },
  );
  await other.start();
  await write("later-v1/config/a.yaml", rules("later"));
  await symlink("later-v1", root);
  await later.until(() => later.domains().join() === "later");
  await other.stop();
}

/** Lays a ConfigMap out as the kubelet does, or publishes a new version of it. */
async function publishConfigMap(
  mount: string,
  version: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = join(base, mount);
  await mkdir(join(folder, `..${version}`), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `..${version}`, name), text);
  await symlink(`..${version}`, join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  for (const name of Object.keys(files)) {
    await symlink(join("..data", name), join(folder, name)).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    });
  }
}

describeConfigSource("a watched directory (RUNTIME_WATCH_ROOT=false)", async (suiteListener) => {
  const folder = await mkdtemp(join(tmpdir(), "weir-files-"));
  let version = 0;
  const open = (to: ConfigListener): ConfigSource =>
    new FileSource(
      { listener: to, log: silent },
      { root: folder, subdirectory: "", appDirectory: "config", ignoreDotFiles: false, watchRoot: false },
    );
  return {
    source: open(suiteListener),
    another: open,
    async publish(domains) {
      await rm(join(folder, "next"), { recursive: true, force: true });
      await mkdir(join(folder, "next"));
      for (const domain of domains) await writeFile(join(folder, "next", `${domain}.yaml`), rules(domain));
      // Swapped as a whole and without a turn of the event loop in between, so that neither a half
      // of it nor a gap can be seen.
      version += 1;
      if (existsSync(join(folder, "config"))) renameSync(join(folder, "config"), join(folder, `old-${version}`));
      renameSync(join(folder, "next"), join(folder, "config"));
    },
    async publishGarbage() {
      await mkdir(join(folder, "config"), { recursive: true });
      await writeFile(join(folder, "config", "broken.yaml"), "'''");
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
});

describeConfigSource("a swapped root (RUNTIME_WATCH_ROOT=true)", async (suiteListener) => {
  const folder = await mkdtemp(join(tmpdir(), "weir-files-"));
  let version = 0;
  const publish = async (files: Readonly<Record<string, string>>): Promise<void> => {
    version += 1;
    await mkdir(join(folder, `v${version}`, "config"), { recursive: true });
    for (const [name, text] of Object.entries(files))
      await writeFile(join(folder, `v${version}`, "config", name), text);
    await symlink(`v${version}`, join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "current"));
  };
  const open = (to: ConfigListener): ConfigSource =>
    new FileSource(
      { listener: to, log: silent },
      {
        root: join(folder, "current"),
        subdirectory: "",
        appDirectory: "config",
        ignoreDotFiles: false,
        watchRoot: true,
      },
    );
  return {
    source: open(suiteListener),
    another: open,
    publish: (domains) => publish(Object.fromEntries(domains.map((domain) => [`${domain}.yaml`, rules(domain)]))),
    publishGarbage: () => publish({ "broken.yaml": "'''" }),
    close: () => rm(folder, { recursive: true, force: true }),
  };
});

describe("FileSource", () => {
  it.each([{ watchRoot: true }, { watchRoot: false }])(
    "passes on no half of a change while the root is swapped again and again (watchRoot $watchRoot)",
    async ({ watchRoot }) => {
      const publish = async (version: number): Promise<void> => {
        for (const name of ["x", "y"])
          await write(`v${version}/config/${name}${version}.yaml`, rules(`${name}${version}`));
        await symlink(`v${version}`, join(base, "next"));
        await rename(join(base, "next"), join(base, "root"));
      };
      await publish(0);
      await start({ watchRoot });
      const last = 300;
      for (let version = 1; version <= last; version++) {
        await publish(version);
        source?.reload();
      }
      await listener.until(() => listener.domains().join() === `x${last},y${last}`);
      expect(listener.accepted.filter((domains) => !/^x(\d+),y\1$/.test(domains))).toEqual([]);
      expect(listener.errors).toEqual([]);
    },
  );

  it("a root link that is swapped to the same folder loads it again, as in envoyproxy/ratelimit", async () => {
    await write("v1/config/a.yaml", rules("a"));
    await symlink("v1", join(base, "root"));
    await start({ watchRoot: true });
    await write("v1/config/a.yaml", rules("b"));
    await symlink("v1", join(base, "next"));
    await rename(join(base, "next"), join(base, "root"));
    await listener.until(() => listener.domains().join() === "b");
  });

  it("start() reads *.yaml and *.yml in all folders below, sorted by path, and warns of the others once", async () => {
    await write("root/config/b.yml", rules("b"));
    await write("root/config/a.yaml", rules("a"));
    await write("root/config/sub/deeper/c.yaml", rules("c"));
    await write("root/config/.hidden.yaml", rules("hidden"));
    await write("root/config/notes.txt", "nothing");
    await write("root/config/..old/x.yaml", rules("x"));
    await start({});
    expect(listener.configs.map((config) => [config.name, config.domain])).toEqual([
      [".hidden.yaml", "hidden"],
      ["a.yaml", "a"],
      ["b.yml", "b"],
      ["sub.deeper.c.yaml", "c"],
    ]);
    await write("root/config/d.yaml", rules("d"));
    await listener.until(() => listener.domains().includes("d"));
    expect(lines.filter((line) => line["level"] === "warning")).toMatchObject([
      {
        "@message": "Skipped an entry that is not a rule file",
        path: join(base, "root/config/notes.txt"),
        reason: "its name ends in neither .yaml nor .yml",
      },
    ]);
  });

  it("start() skips dot files when RUNTIME_IGNOREDOTFILES is true", async () => {
    await write("root/config/.hidden.yaml", rules("hidden"));
    await write("root/config/.git/x.yaml", rules("x"));
    await write("root/config/a.yaml", rules("a"));
    await start({ ignoreDotFiles: true });
    expect(listener.domains()).toEqual(["a"]);
  });

  it.each([
    { watchRoot: true, name: "config.a.yaml" },
    { watchRoot: false, name: "a.yaml" },
  ])(
    "start() reads below RUNTIME_SUBDIRECTORY and calls the file $name when RUNTIME_WATCH_ROOT is $watchRoot",
    async ({ watchRoot, name }) => {
      await write("root/ratelimit/config/a.yaml", rules("a"));
      await write("root/config/b.yaml", rules("b"));
      await start({ subdirectory: "ratelimit", watchRoot });
      expect(listener.configs.map((config) => [config.name, config.domain])).toEqual([[name, "a"]]);
    },
  );

  it.each(["written", "created", "removed", "touched", "given other permissions", "replaced by rename"])(
    "a watched directory is read again when a file in a folder below is %s",
    async (what) => {
      const path = join(base, "root/config/sub/a.yaml");
      await write("root/config/sub/a.yaml", rules("a"));
      await start({});
      const before = listener.accepted.length;
      switch (what) {
        case "written":
          await writeFile(path, rules("b"));
          break;
        case "created":
          await write("root/config/sub/b.yaml", rules("b"));
          break;
        case "removed":
          await rm(path);
          break;
        case "touched":
          await utimes(path, new Date(0), new Date(0));
          break;
        case "given other permissions":
          await chmod(path, 0o600);
          break;
        default:
          await write("b.tmp", rules("b"));
          await rename(join(base, "b.tmp"), path);
      }
      await listener.until(() => listener.accepted.length > before);
      expect(listener.accepted.at(-1)).toBe(
        { created: "a,b", removed: "", written: "b", "replaced by rename": "b" }[what] ?? "a",
      );
    },
  );

  it("a watched root is not read again when a file in it changes in place", async () => {
    await write("v1/config/a.yaml", rules("a"));
    await symlink("v1", join(base, "root"));
    await start({ watchRoot: true, pollIntervalMs: 20 });
    await write("v1/config/b.yaml", rules("b"));
    // A skipped entry is logged by a look at the root: one that has seen the change, too.
    await write("v1/config/notes.txt", "nothing");
    await expect.poll(() => lines.some((line) => line["level"] === "warning"), { timeout: 40_000 }).toBe(true);
    await symlink("v2", join(base, "next"));
    await write("v2/config/c.yaml", rules("c"));
    await rename(join(base, "next"), join(base, "root"));
    await listener.until(() => listener.domains().join() === "c");
    expect(listener.accepted).toEqual(["a", "c"]);
  });

  it.each([true, false])(
    "a mounted ConfigMap is loaded once and again at each update when RUNTIME_WATCH_ROOT is %s",
    async (watchRoot) => {
      await publishConfigMap("root/config", "2026_01", { "a.yaml": rules("a"), "b.yaml": rules("b") });
      await start({ watchRoot });
      expect(listener.configs.map((config) => config.domain)).toEqual(["a", "b"]);
      await publishConfigMap("root/config", "2026_02", { "a.yaml": rules("a2"), "b.yaml": rules("b") });
      await listener.until(() => listener.domains().join() === "a2,b");
      await publishConfigMap("root/config", "2026_03", { "a.yaml": rules("a3"), "b.yaml": rules("b") });
      await listener.until(() => listener.domains().join() === "a3,b");
      expect(listener.errors).toEqual([]);
    },
  );

  it("one bad file rejects the whole load, and the log names its file, line and column", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({});
    await write("root/config/b.yaml", "domain: b\ndescriptors:\n  - key: k\n    ratelimit: {}\n");
    await listener.until(() => listener.errors.length > 0);
    expect(listener.errors).toEqual(["b.yaml: config error, unknown key 'ratelimit'"]);
    expect(listener.domains()).toEqual(["a"]);
    expect(lines.find((line) => line["level"] === "error")).toMatchObject({
      error: "b.yaml: config error, unknown key 'ratelimit'",
      file: join(base, "root/config/b.yaml"),
      line: 4,
      column: 5,
    });
  });

  it("the log names the place when the set as a whole breaks a rule (case 28)", async () => {
    await write("root/config/a.yaml", rules("test-domain"));
    await write("root/config/duplicate_domain.yaml", `# the same again\n${rules("test-domain")}`);
    await start({});
    expect(listener.errors).toEqual(["duplicate_domain.yaml: duplicate domain 'test-domain' in config file"]);
    expect(lines.find((line) => line["level"] === "error")).toMatchObject({
      file: join(base, "root/config/duplicate_domain.yaml"),
      line: 2,
      column: 9,
    });
  });

  it("a file that is no UTF-8 is refused by name", async () => {
    await mkdir(join(base, "root/config"), { recursive: true });
    await writeFile(join(base, "root/config/a.yaml"), Buffer.from([0x64, 0xff]));
    await start({});
    expect(listener.errors).toEqual(["a.yaml: error loading config file: yaml: invalid UTF-8"]);
  });

  it("a directory that is missing is logged once, and loaded when it appears", async () => {
    await start({ pollIntervalMs: 20 });
    await pollOfAnotherSource(20);
    expect(listener.errors).toEqual([
      `Cannot read the rule files in ${join(base, "root/config")}: the folder does not exist; ` +
        "RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY say where they are",
    ]);
    await write("root/config/a.yaml", rules("a"));
    await listener.until(() => listener.domains().join() === "a");
  });

  it("many changes in one go make few loads, and the last one is seen", async () => {
    await write("root/config/a.yaml", rules("a0"));
    await start({});
    for (let version = 1; version <= 100; version++) {
      writeFileSync(join(base, "root/config/a.yaml"), rules(`a${version}`));
      if (version % 10 === 0) await new Promise((resolve) => setImmediate(resolve)); // Events arrive between the changes.
    }
    await listener.until(() => listener.domains().join() === "a100");
    expect(listener.accepted.length).toBeLessThan(30);
  });

  it.each([true, false])(
    "folders of a mounted ConfigMap are read, and read again at each update, when RUNTIME_WATCH_ROOT is %s",
    async (watchRoot) => {
      await mountConfigMapFolder("2026_01", rules("a"));
      await start({ watchRoot });
      expect(listener.configs.map((config) => [config.name, config.domain])).toEqual([
        [watchRoot ? "config.team.a.yaml" : "team.a.yaml", "a"],
      ]);
      await mountConfigMapFolder("2026_02", rules("b"));
      await listener.until(() => listener.domains().join() === "b");
      expect(lines.filter((line) => line["level"] === "warning")).toEqual([]);
    },
  );

  it.each([true, false])(
    "a ConfigMap that is mounted as the root is read at each update when RUNTIME_WATCH_ROOT is %s",
    async (watchRoot) => {
      await write("root/..2026_01/config/a.yaml", rules("a"));
      await symlink("..2026_01", join(base, "root/..data"));
      await symlink("..data/config", join(base, "root/config"));
      await start({ watchRoot });
      expect(listener.domains()).toEqual(["a"]);
      await write("root/..2026_02/config/a.yaml", rules("b"));
      await symlink("..2026_02", join(base, "root/..data_tmp"));
      await rename(join(base, "root/..data_tmp"), join(base, "root/..data"));
      await rm(join(base, "root/..2026_01"), { recursive: true });
      await listener.until(() => listener.domains().join() === "b");
      expect(listener.errors).toEqual([]);
    },
  );

  it("a ConfigMap that is mounted in a folder below is read again at an update when the root is watched", async () => {
    await write("root/config/own.yaml", rules("own"));
    await publishConfigMap("root/config/team", "2026_01", { "a.yaml": rules("a") });
    await start({ watchRoot: true });
    expect(listener.domains()).toEqual(["a", "own"]);
    await publishConfigMap("root/config/team", "2026_02", { "a.yaml": rules("b") });
    await listener.until(() => listener.domains().join() === "b,own");
  });

  it("a file that leaves a ConfigMap takes its rules along, and the remaining link is logged once", async () => {
    await publishConfigMap("root/config", "2026_01", { "a.yaml": rules("a"), "b.yaml": rules("b") });
    await start({ pollIntervalMs: 20 });
    await publishConfigMap("root/config", "2026_02", { "a.yaml": rules("a2") });
    await listener.until(() => listener.domains().join() === "a2");
    expect(lines.filter((line) => line["level"] === "warning")).toMatchObject([
      {
        "@message": "Skipped an entry that is not a rule file",
        path: join(base, "root/config/b.yaml"),
        reason: "it is a link without a target",
      },
    ]);
  });

  it("links without a target, to themselves or to a folder are skipped and logged once each; their targets are loaded when they appear", async () => {
    await write("root/config/a.yaml", rules("a"));
    await symlink("missing", join(base, "root/config/away"));
    await symlink("circle", join(base, "root/config/circle"));
    await symlink(".", join(base, "root/config/here"));
    await symlink("../late.yaml", join(base, "root/config/late.yaml"));
    await start({ pollIntervalMs: 20 });
    expect(listener.accepted).toEqual(["a"]);
    await write("root/late.yaml", rules("late"));
    await listener.until(() => listener.domains().join() === "a,late");
    await write("root/late.yaml", rules("later"));
    await listener.until(() => listener.domains().join() === "a,later");
    const logged = lines
      .filter((line) => line["level"] === "warning")
      .map((line) => `${String(line["path"]).slice(join(base, "root/config/").length)}: ${String(line["reason"])}`);
    expect(logged.sort()).toEqual([
      "away: it is a link without a target",
      "circle: it is a link without a target",
      "here: it is a link to a folder",
      "late.yaml: it is a link without a target",
    ]);
  });

  it("a link that appears without a target is logged although there is nothing to load", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({});
    await symlink("missing", join(base, "root/config/away"));
    await expect.poll(() => lines.filter((line) => line["level"] === "warning").length, { timeout: 40_000 }).toBe(1);
    expect(listener.accepted).toEqual(["a"]);
  });

  it("what is next to the folder of rule files is logged when the root is watched, because envoyproxy/ratelimit reads it", async () => {
    await write("root/config/a.yaml", rules("a"));
    await write("root/config.yaml", rules("b"));
    await write("root/config.d/c.yaml", rules("c"));
    await start({ watchRoot: true });
    expect(listener.domains()).toEqual(["a"]);
    expect(lines.filter((line) => line["level"] === "warning")).toMatchObject([
      { path: join(base, "root/config.d"), reason: `it is next to ${join(base, "root/config")}, not in it` },
      { path: join(base, "root/config.yaml"), reason: `it is next to ${join(base, "root/config")}, not in it` },
    ]);
  });

  it.each([true, false])(
    "a root with a slash at its end is watched like any other when RUNTIME_WATCH_ROOT is %s",
    async (watchRoot) => {
      await write("v1/config/a.yaml", rules("a"));
      await write("v2/config/a.yaml", rules("b"));
      await symlink("v1", join(base, "root"));
      await start({ watchRoot, root: `${join(base, "root")}/` });
      expect(listener.domains()).toEqual(["a"]);
      await symlink("v2", join(base, "next"));
      await rename(join(base, "next"), join(base, "root"));
      await listener.until(() => listener.domains().join() === "b");
    },
  );

  it("a root that is missing is loaded when its link appears", async () => {
    await write("v1/config/a.yaml", rules("a"));
    await start({ watchRoot: true, pollIntervalMs: 20 });
    expect(listener.errors).toHaveLength(1);
    await symlink("v1", join(base, "root"));
    await listener.until(() => listener.domains().join() === "a");
    expect(listener.errors).toHaveLength(1);
  });

  it("a directory that goes away does not change the active rules, and is loaded when it is back unchanged", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({ pollIntervalMs: 20 });
    await rename(join(base, "root/config"), join(base, "elsewhere"));
    await listener.until(() => listener.errors.length === 1);
    expect(listener.domains()).toEqual(["a"]);
    await rename(join(base, "elsewhere"), join(base, "root/config"));
    await listener.until(() => listener.accepted.length === 2);
  });

  it("a directory without rule files is an empty configuration", async () => {
    await mkdir(join(base, "root/config"), { recursive: true });
    await start({});
    expect(listener.accepted).toEqual([""]);
    expect(listener.errors).toEqual([]);
  });

  it("a file that was renamed keeps its rules under its new name", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({});
    await rename(join(base, "root/config/a.yaml"), join(base, "root/config/z.yml"));
    await listener.until(() => listener.configs[0]?.name === "z.yml");
    expect(listener.domains()).toEqual(["a"]);
    await rename(join(base, "root/config/z.yml"), join(base, "root/config/z.yml.bak"));
    await listener.until(() => listener.domains().join() === "");
  });

  it("a file that cannot be read rejects the whole load and is named; the load succeeds when it can be read", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({ pollIntervalMs: 20 });
    await write("root/config/b.yaml", rules("b"));
    await listener.until(() => listener.domains().join() === "a,b");
    // A regular file whose reading fails for every user, root too.
    await symlink("/proc/self/mem", join(base, "next"));
    await rename(join(base, "next"), join(base, "root/config/b.yaml"));
    await listener.until(() => listener.errors.length > 0);
    expect(listener.errors[0]).toMatch(
      new RegExp(`^Cannot read the rule file ${join(base, "root/config/b.yaml")}: .*EIO`),
    );
    expect(listener.domains()).toEqual(["a", "b"]);
    await rm(join(base, "root/config/b.yaml"));
    await listener.until(() => listener.domains().join() === "a");
  });

  it("a file of a gigabyte is refused unopened", async () => {
    await write("root/config/a.yaml", "");
    await truncate(join(base, "root/config/a.yaml"), 1024 ** 3);
    await start({});
    expect(listener.errors).toEqual([
      "a.yaml: error loading config file: it is larger than 12582912 bytes, current size is 1073741824",
    ]);
  });

  it("a file that is written in two halves is rejected as long as it is not whole, and then loaded", async () => {
    await write("root/config/a.yaml", rules("a"));
    await start({});
    const whole = rules("b");
    await writeFile(join(base, "root/config/a.yaml"), whole.slice(0, 40));
    await listener.until(() => listener.errors.length > 0);
    expect(listener.domains()).toEqual(["a"]);
    await writeFile(join(base, "root/config/a.yaml"), whole);
    await listener.until(() => listener.domains().join() === "b");
  });

  it("case 198: rules of a file come and go with it", async () => {
    await write("root/config/basic.yaml", rules("basic"));
    await start({});
    await write("root/config/reload.yaml", rules("reload"));
    await listener.until(() => listener.domains().join() === "basic,reload");
    await rm(join(base, "root/config/reload.yaml"));
    await listener.until(() => listener.domains().join() === "basic");
    expect(listener.errors).toEqual([]);
  });

  /**
   * Lays a ConfigMap with the item path team/a.yaml out as the kubelet does, or publishes a new
   * version of it.
   */
  async function mountConfigMapFolder(version: string, text: string): Promise<void> {
    await write(`root/config/..${version}/team/a.yaml`, text);
    await symlink(`..${version}`, join(base, "root/config/..data_tmp"));
    await rename(join(base, "root/config/..data_tmp"), join(base, "root/config/..data"));
    await symlink("..data/team", join(base, "root/config/team")).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    });
  }
});
