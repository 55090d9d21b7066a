// The library that measures turns, in a program with turns of known length.
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startProcess } from "@weir/harness/processes/start-process";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, describe, expect, it } from "vitest";
import { buildLongestTurn, clearLongestTurn, longestTurnEnv, readLongestTurn } from "./longest-turn.ts";

/** A turn that waits without work, one that works in a timer, and two that work as long together. */
const PROGRAM = `
  const work = (ms) => {
    const used = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
    for (const untilMs = used() + ms; used() < untilMs;);
  };
  const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  setTimeout(() => wait(300), 50);
  const later = () => { work(60); setTimeout(() => console.log("done"), 1); };
  setTimeout(() => { work(40); setImmediate(later); }, 500);
  setInterval(() => undefined, 1000);
`;

describe("the library that measures turns", () => {
  const folder = makeTemporaryFolder();

  afterAll(() => folder.remove());

  it("keeps the turn with the most processor time, and forgets it", async () => {
    const file = join(folder.path, "turn");
    const env = longestTurnEnv(await buildLongestTurn(folder.path), file);
    const program = await startProcess({
      name: "turns",
      command: process.execPath,
      args: ["--eval", PROGRAM],
      env,
    });
    try {
      await eventually("the program to have done its work", () => expect(program.lastLines()).toContain("done"));
      const { cpuMicros, wallMicros } = readLongestTurn(file);
      expect(cpuMicros).toBeGreaterThanOrEqual(60_000);
      expect(cpuMicros).toBeLessThan(100_000); // Not both turns, and none that waits.
      expect(wallMicros).toBeGreaterThanOrEqual(cpuMicros - 1000);
      clearLongestTurn(file);
      expect(readLongestTurn(file).cpuMicros).toBeLessThan(60_000);
    } finally {
      await program.stop("SIGTERM", 1000);
    }
  });
});
