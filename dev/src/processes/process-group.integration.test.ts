// Real processes: what stop() and kill() leave behind is the point of the file under test.
import { describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { isRunning } from "@weir/harness/processes/processes";
import type { ProcessGroup } from "./process-group.ts";
import { startProcess } from "./process-group.ts";

const ENV = { PATH: "/usr/bin:/bin" };

describe("startProcess()", () => {
  it("hands on every line and how the process ended", async () => {
    const lines: string[] = [];
    const group = await shell("echo out; echo err >&2; exit 3", (line) => lines.push(line));
    expect(await group.exited).toEqual({ code: 3, signal: null });
    expect(lines.toSorted()).toEqual(["err", "out"]);
    expect(group.isRunning()).toBe(false);
  });

  it("keeps the last twenty lines", async () => {
    const group = await shell("for i in $(seq 1 30); do echo line $i; done");
    await group.exited;
    expect(group.lastLines()).toHaveLength(20);
    expect(group.lastLines().at(0)).toBe("line 11");
    expect(group.lastLines().at(-1)).toBe("line 30");
  });

  it("gives the process only the environment of its options", async () => {
    const group = await startProcess({ name: "env", command: "/usr/bin/env", args: [], env: { ONLY: "this" } });
    await group.exited;
    expect(group.lastLines()).toEqual(["ONLY=this"]);
  });

  it("rejects when the program does not exist", async () => {
    await expect(startProcess({ name: "none", command: "/nonexistent/program", args: [], env: ENV })).rejects.toThrow(
      "ENOENT",
    );
  });
});

describe("stop()", () => {
  it("asks first, so that the process can end by itself", async () => {
    const group = await shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    await untilLine(group, "ready");
    expect(await group.stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
  });

  it("kills a process that does not end in time", async () => {
    const group = await shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await untilLine(group, "ready");
    expect(await group.stop("SIGTERM", 100)).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("leaves no process that the program started itself", async () => {
    const group = await shell("trap 'exit 0' TERM; sleep 1000 & echo $!; while :; do sleep 0.05; done");
    const child = Number(await untilLine(group, /^\d+$/));
    expect(isRunning(child)).toBe(true);
    await group.stop("SIGTERM", 30_000);
    await eventually("the child to be gone", () => expect(isRunning(child)).toBe(false));
  });
});

describe("kill()", () => {
  it("ends the whole group immediately and may be called again", async () => {
    const group = await shell("sleep 1000 & echo $!; wait");
    const child = Number(await untilLine(group, /^\d+$/));
    group.kill();
    expect(await group.exited).toEqual({ code: null, signal: "SIGKILL" });
    group.kill();
    await eventually("the child to be gone", () => expect(isRunning(child)).toBe(false));
  });
});

function shell(script: string, onLine?: (line: string) => void): Promise<ProcessGroup> {
  return startProcess({
    name: "shell",
    command: "/bin/sh",
    args: ["-c", script],
    env: ENV,
    ...(onLine === undefined ? {} : { onLine }),
  });
}

function untilLine(group: ProcessGroup, wanted: string | RegExp): Promise<string> {
  return eventually(`the line ${String(wanted)}`, () => {
    const line = group.lastLines().find((each) => (typeof wanted === "string" ? each === wanted : wanted.test(each)));
    if (line === undefined) throw new Error(`it wrote ${group.lastLines().join(", ")}`);
    return line;
  });
}
