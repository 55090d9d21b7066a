// Help is immediate, and a command loads no more packages than it needs. Each runs as a
// process of its own, with a hook that reports packages.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

/** Prints on standard error which packages are loaded; workspaces are none. */
const HOOK = `
  import { registerHooks } from "node:module";
  const reported = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
      if (name !== undefined && !reported.has(name)) process.stderr.write("loads " + name + "\\n");
      reported.add(name);
      return next(url, context);
    },
  });`;

/**
 * Prints on standard error, at the end, how much time the program has used and waited for, in
 * milliseconds: what it takes on a machine that does nothing else.
 */
const CLOCK = `
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    process.stderr.write("takes " + ((user + system) / 1000 + performance.nodeTiming.idleTime) + " ms\\n");
  });`;

/**
 * Half a second is the promise of every program for its help, on a machine that does nothing else;
 * here others may use it. In milliseconds.
 */
const HELP_MAX_MS = 1000;

/** Attempts to keep it: one good one shows what the program can. */
const ATTEMPTS_MAX = 10;

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: a}\nspec: {domain: a, descriptors: [{key: k, rateLimit: {unit: minute, requestsPerUnit: 1}}]}\n";

function run(
  program: string,
  args: readonly string[],
  options: readonly string[] = [],
): { code: number | null; stdout: string; stderr: string } {
  const script = fileURLToPath(new URL(program, import.meta.url));
  const ended = spawnSync(process.execPath, ["--conditions=source", ...options, script, ...args], {
    input: MANIFEST,
    encoding: "utf8",
  });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

/** The option to run some code before the program. */
function imported(code: string): readonly string[] {
  return ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
}

function loadedBy(program: string, args: readonly string[]): { code: number | null; loaded: readonly string[] } {
  const { code, stderr } = run(program, args, imported(HOOK));
  return { code, loaded: Array.from(stderr.matchAll(/^loads (.*)$/gm), ([, name = ""]) => name).toSorted() };
}

const HELPS: readonly { readonly program: string; readonly args: readonly string[] }[] = [
  { program: "main.ts", args: ["--help"] },
  { program: "main.ts", args: ["help", "rollout"] },
  ...["status", "check", "explain", "simulate", "convert", "rollout", "top"].map((command) => ({
    program: "main.ts",
    args: [command, "--help"],
  })),
  { program: "kubectl-weir.ts", args: ["help", "status"] },
  { program: "config-check.ts", args: ["--help"] },
  { program: "client.ts", args: ["--help"] },
];

describe("the programs of this workspace", () => {
  it.each(HELPS)("$program $args loads no package", ({ program, args }) => {
    expect(loadedBy(program, args)).toEqual({ code: 0, loaded: [] });
  });

  it.each(HELPS)(`$program $args answers within ${HELP_MAX_MS} ms`, ({ program, args }) => {
    let fastestMs = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS_MAX && fastestMs >= HELP_MAX_MS; attempt += 1) {
      const { code, stderr } = run(program, args, imported(CLOCK));
      expect(code).toBe(0);
      fastestMs = Math.min(fastestMs, Number(/^takes (.*) ms$/m.exec(stderr)?.[1]));
    }
    expect(fastestMs).toBeLessThan(HELP_MAX_MS);
  });

  it.each([
    { args: ["check", "-"], loaded: ["yaml", "zod"] },
    { args: ["explain", "-f", "-", "-d", "k=v"], loaded: ["yaml", "zod"] },
    { args: ["simulate", "-f", "-", "--rate", "1/s"], loaded: ["yaml", "zod"] },
    { args: ["convert", "-"], loaded: ["yaml", "zod"] },
  ])("main.ts $args loads nothing of the network", ({ args, loaded }) => {
    expect(loadedBy("main.ts", args)).toEqual({ code: 0, loaded });
  });

  it("main.ts rollout loads nothing that reads manifests", () => {
    expect(loadedBy("main.ts", ["rollout", "-s", "http://127.0.0.1:1"])).toEqual({
      code: 2,
      loaded: ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node"],
    });
  });
});
