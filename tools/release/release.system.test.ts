// A release of one program, written from two checkouts; then used as a user does: unpacked, started, asked for
// decisions.
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandResult, runCommand } from "../run-command.ts";
import { NODE_PACKAGES, PROCESSORS } from "./single-file.ts";

/** A release is written in seconds; machines stand still for longer. */
const RELEASE_TIMEOUT_MS = 300_000;

const PARTS = ["charts", "bill-of-materials", "release-notes", "single-file", "weir-ratelimit"] as const;
const RULES = "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 1 }\n";

/**
 * Copies the working tree and builds one program there: in another folder, later, and with modes that let no other
 * user read. Packages are links to those of the first, and git answers for both.
 */
const COPY = `
umask 077
root=$PWD copy=$1
mkdir -p "$copy/node_modules"
git ls-files -z --cached --others --exclude-standard |
  tar --create --null --files-from - --ignore-failed-read |
  tar --extract --no-same-permissions --directory "$copy"
printf 'gitdir: %s\\n' "$(git rev-parse --absolute-git-dir)" > "$copy/.git"
for name in $(ls -A node_modules); do [ "$name" = @weir ] || ln -s "$root/node_modules/$name" "$copy/node_modules/"; done
cp -a node_modules/@weir "$copy/node_modules/"
for folder in */node_modules; do ln -s "$root/$folder" "$copy/$folder"; done
cd "$copy"
tsc -b ratelimit/tsconfig.build.json cli/tsconfig.build.json
`;

/** Runs a program for arm64, with the libraries of Debian for it. */
const EMULATOR = ["/usr/bin/qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] as const;

/** Neither root nor the user of the image, as OpenShift chooses; only root can become another. */
const USER = process.getuid?.() === 0 ? { uid: 1_000_730_000, gid: 0 } : {};

describe("make release", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-release-test-"));
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

  beforeAll(async () => {
    chmodSync(folder, 0o755); // The program runs under another user.
    const copy = join(folder, "copy");
    await Promise.all([
      writeRelease(".", first),
      mustRun(["sh", "-euc", COPY, "sh", copy]).then(() => writeRelease(copy, second)),
    ]);
  }, 2 * RELEASE_TIMEOUT_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("writes the same bytes from another checkout", () => {
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    expect(sums).toContain(`  weir-ratelimit-${version}-linux-${process.arch}.tar.gz\n`);
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(sums);
  });

  it("writes checksums of every file", async () => {
    const { code, output } = await runCommand(["sh", "-c", `cd ${first} && sha256sum --strict --check SHA256SUMS`]);
    expect(code, output).toBe(0);
    expect(output.match(/: OK$/gm)).toHaveLength(readdirSync(first).length - 1);
  });

  it("has Node.js of the version of this repository in the files for every processor", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { version: string }>;
    };
    expect(NODE_PACKAGES.version).toBe(packages["node_modules/node"]?.version);
  });

  it.each(PROCESSORS)("writes a command line for %s that is one file", async (processor) => {
    const program = join(folder, `bin-${processor}/weir`);
    mkdirSync(dirname(program));
    copyFileSync(join(first, `weir-${version}-linux-${processor}`), program);
    const plugin = join(dirname(program), "kubectl-weir");
    symlinkSync("weir", plugin);
    writeFileSync(join(folder, "wrong.yaml"), RULES.replace("hour", "fortnight"));
    const emulator = processor === process.arch ? [] : EMULATOR;
    // With an empty PATH it finds no other Node.js.
    const run = async (...command: readonly string[]): Promise<Pick<CommandResult, "code" | "output">> =>
      await runCommand(["env", "--ignore-environment", "PATH=", ...emulator, ...command]);
    expect(await run(program, "--version")).toMatchObject({ code: 0, output: `weir ${version}\n` });
    expect(await run(program, "check", join(folder, "wrong.yaml"))).toMatchObject({
      code: 1,
      output: expect.stringContaining("invalid rate limit unit 'fortnight'") as string,
    });
    // Loads what speaks with a cluster.
    expect(await run(plugin, "status", "--kubeconfig", join(folder, "none"))).toMatchObject({
      code: 2,
      output: expect.stringContaining("weir status: Cannot") as string,
    });
    const help = await run(plugin, "explain", "--help");
    expect(help).toMatchObject({ code: 0, output: expect.stringMatching(/^Usage: kubectl weir explain/m) as string });
  });

  it("names every part that it knows when it is asked for another", async () => {
    const { code, output } = await runCommand(["node", "tools/release/release.ts", "--only", "wine"]);
    expect({ code, output }).toEqual({
      code: 2,
      output: expect.stringContaining("Cannot write wine: the parts of a release are charts") as string,
    });
  });

  it("writes programs that run without the repository, as manifests of envoyproxy/ratelimit start them", async () => {
    const root = join(folder, "unpacked");
    const rules = join(folder, "rules/config");
    for (const path of [root, rules]) mkdirSync(path, { recursive: true });
    writeFileSync(join(rules, "shop.yaml"), RULES);
    for (const name of readdirSync(first).filter((file) => file.endsWith("tar.gz"))) {
      await mustRun(["tar", "--extract", "--file", join(first, name), "--directory", root]);
    }
    const port = await freePort();
    // It ends with the test, even when that is killed.
    const program = spawn("/usr/bin/setpriv", ["--pdeathsig", "KILL", "--", join(root, "usr/bin/ratelimit")], {
      ...USER,
      cwd: "/",
      env: {
        ...{ PATH: "/usr/bin:/bin", PORT: String(port), GRPC_PORT: "0", DEBUG_PORT: "0", BACKEND_TYPE: "memory" },
        ...{ RUNTIME_ROOT: join(folder, "rules"), RUNTIME_SUBDIRECTORY: "", USE_STATSD: "false" },
        ...{ USE_PULLSTATS: "true", PULLSTATS_ADDR: "127.0.0.1:0" },
      },
      stdio: "ignore",
    });
    try {
      await untilHealthy(program, `http://127.0.0.1:${port}/healthcheck`);
      const statuses: number[] = [];
      for (let call = 0; call < 2; call += 1) statuses.push(await ask(port));
      expect(statuses).toEqual([200, 429]);
    } finally {
      program.kill();
      if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
    }
  });
});

/** Writes a release of the checkout in `root`. */
async function writeRelease(root: string, out: string): Promise<void> {
  const only = PARTS.flatMap((part) => ["--only", part]);
  await mustRun(["env", "-C", root, "node", "tools/release/release.ts", "--out", out, ...only]);
}

async function mustRun(command: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command);
  expect(code, output).toBe(0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function untilHealthy(program: ChildProcess, url: string): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs) {
    if (program.exitCode !== null) throw new Error(`The program ended with ${program.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(50);
  }
  throw new Error(`${url} did not answer with 200`);
}

async function ask(port: number): Promise<number> {
  const body = JSON.stringify({ domain: "shop", descriptors: [{ entries: [{ key: "user", value: "ada" }] }] });
  const { status } = await fetch(`http://127.0.0.1:${port}/json`, { method: "POST", body });
  return status;
}
