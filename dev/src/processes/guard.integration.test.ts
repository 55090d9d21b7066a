// Real processes: the guard exists for an end that no handler sees, so the test brings that end
// about.
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { childrenOf, isRunning } from "@weir/harness/processes/processes";
import { type Program, startProgram } from "@weir/harness/processes/start-process";

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
    const holder = startHolder();
    const pid = await firstNumber(holder);
    expect(isRunning(pid)).toBe(true);
    await holder.end();
    await eventually("the watched process to be gone", () => expect(isRunning(pid)).toBe(false));
  });

  it("kills nothing when it was released", async () => {
    const holder = startHolder("release");
    const pid = await firstNumber(holder);
    await eventually("the guard to end", () => expect(childrenOf(holder.pid)).toEqual([pid]));
    await holder.end();
    expect(isRunning(pid)).toBe(true);
  });
});

function startHolder(...args: readonly string[]): Program {
  return startProgram(process.execPath, ["--conditions=source", "--input-type=module", "--eval", HOLDER, ...args]);
}

async function firstNumber(holder: Program): Promise<number> {
  const pid = Number((await holder.find(/^(\d+)\n/))[1]);
  pids.push(pid);
  return pid;
}
