// The local stack as README.md, docs/development.md and examples/envoy/README.md start it: each command that it prints,
// a manifest edited and broken, stopped with Ctrl-C, started again.
import { cpSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { pauseProcess } from "@weir/harness/processes/pause-process";
import {
  type LocalStack,
  localStackEnv,
  READY_LINE,
  spawnLocalStack,
  untilLocalStackRuns,
} from "@weir/harness/weir/local-stack";
import { anyPorts, ROOT, runCommand } from "@weir/harness/processes/programs";
import { childrenOf, commandOf, isRunning } from "@weir/harness/processes/processes";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { ProcessExit } from "@weir/dev/processes/process-group";

/** Longest wait for an end, in milliseconds. */
const STOP_TIMEOUT_MS = 30_000;

/** A stack started as a child process, and what it wrote. */
interface RunningStack extends LocalStack {
  /** Every process it started. */
  readonly children: readonly number[];
}

const running: RunningStack[] = [];

// After a failure only: a test that passes has left nothing to kill.
afterEach(async () => {
  for (const stack of running.splice(0)) {
    stack.process.kill();
    await stack.process.exited;
    for (const pid of stack.children) if (isRunning(pid)) process.kill(pid, "SIGKILL");
    await untilGone(stack.children);
  }
});

describe("make run", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "limits");
  let env: Record<string, string>;

  beforeAll(async () => {
    cpSync(join(ROOT, "examples", "limits"), manifests, { recursive: true });
    env = await stackEnv(folder.path, manifests);
  });
  afterAll(() => folder.remove());

  it("starts, prints commands that all work, reports edits, and stops", async () => {
    const stack = await startStack(env);
    const commands = printedCommands(stack.lines);
    expect(commands).toHaveLength(11);
    const [askThrice, askGrpc, raise, breakIt, fix, register, logIn, whoAmI, refresh, logOut, guess] =
      commands as CommandTuple;

    expect(await statusesOf(askThrice)).toEqual([200, 200, 429]);
    expect(await outputOf(askGrpc)).toMatch(/^plan=gold,user=1815: OK, 2999 left of 3000 per minute.*\noverall: OK$/m);

    const accepted = countLines(stack, /rate limit +accepted version/);
    expect(await outputOf(raise)).toBe("");
    await eventually("the new version to be reported", () =>
      expect(countLines(stack, /rate limit +accepted version/)).toBe(accepted + 1),
    );
    expect(await statusesOf(askThrice)).toEqual([200, 200, 429]); // Three of five are used up, refused ones included.

    expect(await outputOf(breakIt)).toBe("");
    const line =
      readFileSync(join(manifests, "login-protection.yaml"), "utf8")
        .split("\n")
        .findIndex((each) => each.includes("fortnight")) + 1;
    await eventually("the mistake to be reported", () =>
      expect(stack.lines.join("\n")).toMatch(
        new RegExp(
          `login-protection\\.yaml:${line}\\b.*spec\\.descriptors\\[1\\]\\.descriptors\\[0\\]\\.rateLimit\\.unit.*fortnight`,
        ),
      ),
    );
    expect(stack.lines.join("\n")).toContain("old limits of this manifest stay active");
    expect(await statusesOf(askThrice)).toEqual([429, 429, 429]); // A limit that was lost would let them through.
    expect(await outputOf(fix)).toBe("");
    await eventually("the fix to be reported", () => expect(countLines(stack, /every manifest is good again/)).toBe(1));

    const [, page = ""] = /account +page +(\S+)/.exec(stack.lines.join("\n")) ?? [];
    expect(await (await fetch(page)).text()).toContain("page/page.js");

    expect(JSON.parse(await outputOf(register))).toMatchObject({
      user: { email: "ada@example.com", name: "Ada Lovelace" },
    });
    expect(JSON.parse(await outputOf(logIn))).toMatchObject({ user: { email: "ada@example.com" } });
    expect(JSON.parse(await outputOf(whoAmI))).toMatchObject({ user: { name: "Ada Lovelace" } });
    expect(JSON.parse(await outputOf(refresh))).toHaveProperty("accessTokenExpiresAt");
    expect(JSON.parse(await outputOf(logOut))).toHaveProperty("message");
    expect(JSON.parse(await outputOf(whoAmI))).toMatchObject({ status: 401 });

    await startOfMinute();
    expect((await outputOf(guess)).trim().split("\n")).toEqual(["401", "401", "401", "401", "401", "429"]);

    // Nothing but what a person should read: no log lines, no stack traces.
    expect(stack.lines.filter((each) => each.includes("@timestamp") || /^\s+at /.test(each))).toEqual([]);
    expect(await interrupt(stack)).toEqual({ code: 0, signal: null });
    expect(stack.lines.at(-1)).toBe("Everything is stopped");
    await untilGone(stack.children);
  });

  it("still has the accounts when it is started again", async () => {
    const stack = await startStack(env);
    const logIn = printedCommands(stack.lines).find((command) => command.includes("/user/login"))!;
    expect(JSON.parse(await outputOf(logIn))).toMatchObject({ user: { email: "ada@example.com" } });
    expect(stack.lines.some((line) => /certificates +still good/.test(line))).toBe(true);
    await interrupt(stack);
  });

  it("names a port in use with the setting that moves it, and starts nothing", async () => {
    const blocker = createServer();
    await once(blocker.listen(Number(env["GRPC_PORT"]), "127.0.0.1"), "listening");
    try {
      const { process: refused, lines } = await spawnStack(env);
      expect(await refused.exited).toEqual({ code: 1, signal: null });
      expect(lines).toEqual([
        "Cannot start the stack, nothing was started:",
        `  port ${env["GRPC_PORT"]!} for rate limit gRPC is in use; GRPC_PORT moves it`,
        expect.stringMatching(/^For example: GRPC_PORT=\d+ make run$/) as string,
      ]);
    } finally {
      blocker.close();
    }
  });

  it.each([
    {
      setting: "SOURCE_DIRECTORY",
      value: "/nonexistent",
      message: "Cannot serve manifests: SOURCE_DIRECTORY is /nonexistent, which is not a folder",
    },
    { setting: "RUN_DIRECTORY", value: "/dev/null", message: "Cannot use RUN_DIRECTORY: " },
    {
      setting: "RUN_DIRECTORY",
      value: "/proc/weir/run",
      message: "Cannot use RUN_DIRECTORY: Cannot make the folder /proc/weir: no folder can be made in /proc",
    },
    { setting: "GRPC_PORT", value: "99999", message: "GRPC_PORT" },
  ])("refuses $setting=$value by its name, and starts nothing", async ({ setting, value, message }) => {
    const { process: refused, lines } = await spawnStack({ ...env, [setting]: value });
    expect(await refused.exited).toEqual({ code: 1, signal: null });
    expect(lines.join("\n")).toContain(message);
    expect(lines.join("\n")).not.toMatch(/^\s+at |ready/m);
  });

  it("stops the rest and shows the last lines when a program ends by itself", async () => {
    const stack = await startStack(env);
    process.kill(accountOf(stack), "SIGKILL");
    const exit = await withDeadline(stack.process.exited, STOP_TIMEOUT_MS);
    expect(exit).toEqual({ code: 1, signal: null });
    expect(stack.lines.join("\n")).toMatch(
      /^account ended by itself with signal SIGKILL; its last lines:\n[^]*Account service ready/m,
    );
    await untilGone(stack.children);
  });

  it("leaves nothing behind when it is interrupted twice", async () => {
    const stack = await startStack(env);
    await pauseProcess(accountOf(stack)); // A program that cannot end by itself.
    process.kill(stack.process.pid, "SIGINT");
    await eventually("the stop to begin", () =>
      expect(stack.lines.some((line) => line.startsWith("Stopping"))).toBe(true),
    );
    const interrupting = setInterval(() => {
      if (stack.process.isRunning()) process.kill(stack.process.pid, "SIGINT");
    }, 300);
    const exit = await withDeadline(stack.process.exited, STOP_TIMEOUT_MS).finally(() => clearInterval(interrupting));
    expect(exit.code).not.toBeNull();
    await untilGone(stack.children);
  });

  it("leaves nothing behind when it is killed", async () => {
    const stack = await startStack(env);
    process.kill(stack.process.pid, "SIGKILL");
    await stack.process.exited;
    await untilGone(stack.children);
  });

  it("leaves nothing behind when it is interrupted while it starts", async () => {
    const { process: starting, lines } = await spawnStack(env);
    await eventually("the first program to be started", () =>
      expect(childrenOf(starting.pid).length).toBeGreaterThan(1),
    );
    const children = childrenOf(starting.pid);
    process.kill(starting.pid, "SIGINT");
    expect((await withDeadline(starting.exited, STOP_TIMEOUT_MS)).code).toBe(0);
    await untilGone(children);
    expect(lines.at(-1)).toBe("Everything is stopped");
  });
});

type CommandTuple = [string, string, string, string, string, string, string, string, string, string, string];

async function stackEnv(folder: string, manifests: string): Promise<Record<string, string>> {
  return localStackEnv(folder, manifests, await anyPorts());
}

async function spawnStack(env: Readonly<Record<string, string>>): Promise<RunningStack> {
  const stack = { ...(await spawnLocalStack(env)), children: [] };
  running.push(stack);
  return stack;
}

async function startStack(env: Readonly<Record<string, string>>): Promise<RunningStack> {
  const spawned = await spawnStack(env);
  await untilLocalStackRuns(spawned);
  const stack = { ...spawned, children: childrenOf(spawned.process.pid) };
  expect(stack.children.length).toBeGreaterThanOrEqual(3);
  running.push(stack);
  return stack;
}

async function interrupt(stack: RunningStack): Promise<ProcessExit> {
  process.kill(stack.process.pid, "SIGINT");
  return withDeadline(stack.process.exited, STOP_TIMEOUT_MS);
}

/** A moment later: the guard, and what was killed at the very end, end while the stack does. */
async function untilGone(children: readonly number[]): Promise<void> {
  await eventually(
    "everything that was started to be gone",
    () => expect(children.filter(isRunning)).toEqual([]),
    STOP_TIMEOUT_MS,
  );
}

async function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not done within ${timeoutMs} ms`)), timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The commands of the page: the lines of its part "To try" that are no comments. */
function printedCommands(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => line.startsWith("To try"));
  const to = lines.findIndex((line) => line.startsWith(READY_LINE));
  return lines
    .slice(from + 1, to)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

async function outputOf(command: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, { cwd: ROOT });
  expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
  return stdout;
}

async function statusesOf(command: string): Promise<number[]> {
  const lines = (await outputOf(command)).trim().split("\n");
  return lines.map((line) => {
    const [, body, status] = /^(\{.*\}) (\d{3})$/.exec(line) ?? [];
    expect(JSON.parse(body ?? "null"), line).toHaveProperty("overallCode");
    return Number(status);
  });
}

/** Waits until a minute has time for six logins, so that no window ends between them. */
async function startOfMinute(): Promise<void> {
  await eventually("the next minute", () => expect((Date.now() / 1000) % 60).toBeLessThan(35));
}

function accountOf(stack: RunningStack): number {
  return stack.children.find((pid) => commandOf(pid).includes("account/dist"))!;
}

function countLines(stack: RunningStack, pattern: RegExp): number {
  return stack.lines.filter((line) => pattern.test(line)).length;
}
