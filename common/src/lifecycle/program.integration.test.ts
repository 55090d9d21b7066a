// A real process: its version, its signals and its exit codes, which the unit tests can only
// imitate.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { versionOf } from "./host.ts";

/**
 * A program in a folder of its own: prints "ready", waits for its signal, and does as its first
 * argument says.
 */
const SCRIPT = `
import { runProgram } from ${JSON.stringify(fileURLToPath(new URL("./program.ts", import.meta.url)))};
runProgram({ name: "fixture", summary: "Waits.", usage: "WHAT" }, async ({ args, signal, signalName, stdout, stderr, onHangup }) => {
  if (args[0] === "throw") throw new TypeError("broken");
  if (args[0] === "reject") { void Promise.reject(new TypeError("not caught")); await new Promise(() => setInterval(() => {}, 1000)); }
  if (args[0] === "flood") { for (let line = 0; line < 100000; line++) stdout("a line of text\\n"); return 0; }
  if (args[0] === "fail") { stdout("x".repeat(1_000_000)); stderr("y".repeat(1_000_000)); return 3; }
  onHangup(() => stdout("hangup\\n"));
  const keepAlive = setInterval(() => {}, 1000);
  stdout("ready\\n");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  clearInterval(keepAlive);
  stdout(signalName() + "\\n");
});
`;

let folder = "";
let script = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-program-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", version: "4.5.6" }));
  script = join(folder, "main.ts");
  writeFileSync(script, SCRIPT);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Processes of the running test; what a failed test leaves behind is killed. */
let children: Program[] = [];

afterEach(() => {
  for (const child of children) child.kill();
  children = [];
});

function start(...args: readonly string[]): Program {
  const program = startProgram(process.execPath, [script, ...args]);
  children.push(program);
  return program;
}

describe("runProgram() in a real process", () => {
  it("runProgram() prints the version of the script's own package.json when asked", async () => {
    const run = start("--version");
    expect(await run.exited).toEqual({ code: 0, signal: null });
    expect(run.output()).toBe("fixture 4.5.6\n");
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "runProgram() lets main end and exits with 0 when %s arrives",
    async (signal) => {
      const run = start("wait");
      await run.find(/ready\n/);
      run.signal("SIGHUP");
      await run.find(/hangup\n/);
      run.signal(signal);
      expect(await run.exited).toEqual({ code: 0, signal: null });
      expect(run.output()).toBe(`ready\nhangup\n${signal}\n`);
    },
  );

  it("runProgram() exits with 1 and the stack when main throws", async () => {
    const run = start("throw");
    expect(await run.exited).toEqual({ code: 1, signal: null });
    expect(run.errors()).toMatch(/^fixture: unexpected error, the process ends: TypeError: broken\n {4}at /);
  });

  it("runProgram() exits with 1 and the stack when a rejection is not caught", async () => {
    const run = start("reject");
    expect(await run.exited).toEqual({ code: 1, signal: null });
    expect(run.errors()).toMatch(/^fixture: unexpected error, the process ends: TypeError: not caught\n {4}at /);
  });

  it("runProgram() ends quietly when the reader of its output goes away", async () => {
    const run = start("flood");
    run.child.stdout?.destroy();
    expect(await run.exited).toEqual({ code: 0, signal: null });
    expect(run.errors()).toBe("");
  });

  it("runProgram() lets all of its output out when it fails and a slow reader lies behind a pipe", () => {
    // Each reader begins only when the pipe has long been full.
    const command =
      '{ { "$0" "$1" fail; echo $? >&3; } 2>&4 | { sleep 1; wc -c >&3; }; } 4>&1 >/dev/null | { sleep 2; wc -c; }';
    const ended = spawnSync("bash", ["-c", `exec 3>&1; ${command}`, process.execPath, script], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(ended.stdout.trim().split(/\s+/).toSorted()).toEqual(["1000000", "1000000", "3"]);
  });

  it("runProgram() keeps its exit code when the reader goes away before the end of the output", () => {
    const command = '{ "$0" "$1" fail 2>/dev/null; echo $? >&3; } | head -c 10';
    const ended = spawnSync("bash", ["-c", `exec 3>&1; ${command}`, process.execPath, script], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(ended.stdout.replace("xxxxxxxxxx", "")).toBe("3\n");
  });

  it("runProgram() exits with 1 when its output cannot be written", () => {
    const full = openSync("/dev/full", "w");
    try {
      const ended = spawnSync(process.execPath, [script, "--version"], {
        stdio: ["ignore", full, "pipe"],
        encoding: "utf8",
      });
      expect([ended.status, ended.stderr]).toEqual([
        1,
        "cannot write to standard output: ENOSPC: no space left on device, write\n",
      ]);
    } finally {
      closeSync(full);
    }
  });
});

describe("versionOf()", () => {
  it("versionOf() follows a link and goes up the folders when the script lies deeper", () => {
    const link = join(folder, "link.ts");
    symlinkSync(script, link);
    expect(versionOf(link)).toBe("4.5.6");
  });
});
