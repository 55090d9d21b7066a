// How many password hashes this machine makes per second when it does nothing else.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@weir/harness/processes/programs";

/** Compares at a given cost, so many at a time, for so long; prints how many per second. */
const PROGRAM = `
const { compare, hash } = require("bcrypt");
const [cost, concurrency, durationMs] = process.argv.slice(1).map(Number);
(async () => {
  const stored = await hash("correct horse battery", cost);
  const startedMs = performance.now();
  let count = 0;
  const work = async () => {
    while (performance.now() - startedMs < durationMs) {
      await compare("correct horse battery", stored);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  console.log((count / (performance.now() - startedMs)) * 1000);
})();
`;

/** Hashes per second, in a process of its own with threads for all of them. */
export async function measureHashRate(cost: number, concurrency: number, durationMs: number): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--eval", PROGRAM, String(cost), String(concurrency), String(durationMs)],
    { cwd: join(ROOT, "account"), env: { UV_THREADPOOL_SIZE: String(concurrency + 4) } },
  );
  return Number(stdout);
}
