// Real processes: the guard exists for an end that no handler sees, so the test brings that end
// about.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { childrenOf, isRunning } from "@weir/harness/processes/processes";

const HOLDER = `
import { Guard } from ${JSON.stringify(join(import.meta.dirname, "guard.ts"))};
import { startProcess } from ${JSON.stringify(join(import.meta.dirname, "process-group.ts"))};
const env = { PATH: "/usr/bin:/bin" };
const guard = new Guard(env);
const group = await startProcess({ name: "sleeper", command: "sleep", args: ["1000"], env });
guard.watch(group.pid);
console.log(group.pid);
if (process.argv[1] === "release") guard.release();
setInterval(() => {}, 1000);
`;

const pids: number[] = [];

afterEach(() => {
  for (const pid of pids.splice(0)) if (isRunning(pid)) process.kill(pid, "SIGKILL");
});

describe("Guard", () => {
  it("kills what it watches when the process that started it is killed", async () => {
    const holder = spawn(process.execPath, ["--conditions=source", "--input-type=module", "--eval", HOLDER], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pid = await firstNumber(holder.stdout);
    expect(isRunning(pid)).toBe(true);
    holder.kill("SIGKILL");
    await eventually("the watched process to be gone", () => expect(isRunning(pid)).toBe(false));
  });

  it("kills nothing when it was released", async () => {
    const holder = spawn(
      process.execPath,
      ["--conditions=source", "--input-type=module", "--eval", HOLDER, "release"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const pid = await firstNumber(holder.stdout);
    await eventually("the guard to end", () => expect(childrenOf(holder.pid!)).toEqual([pid]));
    const ended = once(holder, "exit");
    holder.kill("SIGKILL");
    await ended;
    expect(isRunning(pid)).toBe(true);
  });
});

async function firstNumber(output: NodeJS.ReadableStream): Promise<number> {
  for await (const chunk of output) {
    const pid = Number(String(chunk).trim());
    pids.push(pid);
    return pid;
  }
  throw new Error("The holder ended without a word");
}
