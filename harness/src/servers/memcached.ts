// Real memcached servers for tests, on a port or on a unix socket, with a plain client to look into them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type StoreOptions, HOST, StoreServer } from "./store-server.ts";

/** How to start a memcached. */
export interface MemcachedOptions extends StoreOptions {
  /** Kind of its listener; by default a port. */
  readonly listensOn?: "port" | "socket";
}

/** Starts an empty memcached. */
export async function startMemcached(
  folder?: string,
  { listensOn = "port", ...options }: MemcachedOptions = {},
): Promise<MemcachedServer> {
  const user = process.getuid?.() === 0 ? ["-u", "root"] : []; // Without a user it does not start as root.
  return MemcachedServer.run(
    folder,
    "memcached",
    ({ port, socketPath }) => [
      ...user,
      ...(listensOn === "port" ? ["-l", HOST, "-p", String(port), "-U", "0"] : ["-s", socketPath]),
    ],
    options,
    listensOn,
  );
}

/** A running memcached. */
export class MemcachedServer extends StoreServer {
  /** The answer to a command, as lines without the END of a get. */
  async ask(command: string): Promise<readonly string[]> {
    const socket = connect(this.target);
    try {
      await once(socket, "connect");
      socket.write(`${command}\r\n`);
      return await readAnswer(socket);
    } finally {
      socket.destroy();
    }
  }

  /** The value at a key; undefined when there is none. */
  async get(key: string): Promise<string | undefined> {
    return (await this.ask(`get ${key}`))[1];
  }

  /** Stores a value. */
  async set(key: string, value: string): Promise<void> {
    await this.ask(`set ${key} 0 0 ${Buffer.byteLength(value)}\r\n${value}`);
  }

  /** Seconds until the key expires, from 0 on; undefined when it is not there. */
  async secondsToLive(key: string): Promise<number | undefined> {
    const [line] = await this.ask(`mg ${key} t`);
    const found = /^HD t(\d+)/.exec(line ?? "");
    return found === null ? undefined : Number(found[1]);
  }

  async stat(name: string): Promise<number> {
    const found = (await this.ask("stats")).find((line) => line.startsWith(`STAT ${name} `));
    return Number(found?.split(" ")[2]);
  }
}

async function readAnswer(socket: Socket): Promise<readonly string[]> {
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    const isOpen = /^(?:VALUE|STAT) /.test(text);
    if (isOpen ? text.endsWith("END\r\n") : text.endsWith("\r\n"))
      return text.split("\r\n").filter((line) => line !== "" && line !== "END");
  }
  throw new Error("The server closed the connection");
}
