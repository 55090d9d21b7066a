// Tests that a server ends when the process that started it is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { isRunning } from "./processes.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

const folder = makeTemporaryFolder();

afterAll(() => folder.remove());

/** Starts a server and prints its process id. */
const HOLDER = `
import { ServerProcess } from "./server-process.ts";
const server = new ServerProcess({
  name: "sleeper", command: "sleep", args: ["1000"], logPath: ${JSON.stringify(join(folder.path, "log"))}, isGroupLeader: true,
});
server.start();
console.log(server.pid);
setInterval(() => undefined, 1000);
`;

describe("ServerProcess", () => {
  it("ends with the process that started it when that is killed", async () => {
    const holder = spawn(process.execPath, ["--conditions=source", "--input-type=module", "--eval", HOLDER], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface({ input: holder.stdout }), "line")) as [string];
    expect(isRunning(Number(line))).toBe(true);
    holder.kill("SIGKILL");
    await eventually("the server to end", () => expect(isRunning(Number(line))).toBe(false));
  });
});
