// A real redis-server for scenarios and benchmarks: nothing on disk, a folder of its own, stopped
// by pid.
import { createConnection } from "node:net";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/ports";
import type { ProcessGroup } from "@weir/dev/process-group";
import { startProcess } from "@weir/dev/process-group";
import { eventually } from "@weir/testing/eventually";
import { reservePort } from "@weir/testing/reserve-ports";

/** A running redis-server, reachable over TCP and over a unix socket. */
export interface Redis {
  readonly address: string;
  readonly socketPath: string;
  readonly process: ProcessGroup;
  /** Sends one command and resolves with the raw reply. */
  command(...words: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a redis-server with an empty keyspace and its socket in `folder`. `pinned` goes in front
 * of its command line.
 */
export async function startRedis(folder: string, pinned: readonly string[] = []): Promise<Redis> {
  const port = await reservePort();
  const socketPath = join(folder, "redis.sock");
  const flags = [
    "--port",
    String(port),
    "--bind",
    STACK_HOST,
    "--unixsocket",
    socketPath,
    "--save",
    "",
    "--appendonly",
    "no",
    "--dir",
    folder,
  ];
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
  const process = await startProcess({
    name: "redis",
    command: "env",
    args: [...pinned, "redis-server", ...flags],
    env,
  });
  const command = (...words: readonly string[]): Promise<string> => sendCommand(port, words);
  try {
    await eventually("redis-server to answer", async () => {
      if (!process.isRunning()) throw new Error(`it ended: ${process.lastLines().join("\n")}`);
      const reply = await command("PING");
      if (reply !== "+PONG\r\n") throw new Error(`it answered ${reply}`);
    });
  } catch (error) {
    process.kill();
    throw error;
  }
  const stop = async (): Promise<void> => {
    await process.stop("SIGTERM", 2000);
  };
  return { address: `${STACK_HOST}:${port}`, socketPath, process, command, stop };
}

// Enough of the protocol for tests: one command per connection, the reply as it came.
function sendCommand(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: STACK_HOST, port });
    socket.setEncoding("utf8");
    socket.setTimeout(20_000, () => socket.destroy(new Error("no reply within 20 s")));
    socket.once("error", reject);
    socket.once("data", (reply: string) => {
      socket.destroy();
      resolve(reply);
    });
    socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
  });
}
