// A real memcached for benchmarks: on a unix socket in a folder of its own, stopped by pid.
import { createConnection } from "node:net";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/process-group";
import { startProcess } from "@weir/dev/process-group";
import { eventually } from "@weir/testing/eventually";

/** Memory for items in MiB: more than any benchmark writes, so that nothing is evicted. */
const MEMORY_MEBIBYTES = 256;

/** A running memcached. */
export interface Memcached {
  readonly socketPath: string;
  readonly process: ProcessGroup;
  stop(): Promise<void>;
}

/**
 * Starts an empty memcached with its socket in `folder`. `pinned` goes in front of its command
 * line.
 */
export async function startMemcached(folder: string, pinned: readonly string[] = []): Promise<Memcached> {
  const socketPath = join(folder, "memcached.sock");
  // It refuses to run as root unless told so.
  const user = process.getuid?.() === 0 ? ["-u", "root"] : [];
  const args = [...pinned, "memcached", ...user, "-s", socketPath, "-m", String(MEMORY_MEBIBYTES), "-t", "1"];
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
  const program = await startProcess({ name: "memcached", command: "env", args, env });
  try {
    await eventually("memcached to listen", async () => {
      if (!program.isRunning()) throw new Error(`it ended: ${program.lastLines().join("\n")}`);
      await connectOnce(socketPath);
    });
  } catch (error) {
    program.kill();
    throw error;
  }
  const stop = async (): Promise<void> => {
    await program.stop("SIGTERM", 2000);
  };
  return { socketPath, process: program, stop };
}

function connectOnce(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}
