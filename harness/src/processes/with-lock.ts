// One process of this machine at a time does something that others wait for.
import { once } from "node:events";
import { createServer } from "node:net";

import { eventually } from "./eventually.ts";

/** Runs `work` when no other process does so under this name; waits for that at most `timeoutMs`. */
export async function withLock<T>(name: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const server = await eventually(
    `the lock ${name}`,
    async () => {
      const listening = createServer();
      // Linux gives up the abstract socket when its process ends.
      await once(listening.listen(`\0${name}`), "listening");
      return listening;
    },
    timeoutMs,
  );
  try {
    return await work();
  } finally {
    server.close();
  }
}
