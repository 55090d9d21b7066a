// A real memcached for integration tests: on a reserved port of 127.0.0.1 or a unix socket, ended
// by its process id, with a plain client to look into it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pauseProcess } from "@weir/harness/processes/pause-process";
import { reservePort } from "@weir/harness/processes/reserve-ports";

/** Longest wait for the server to accept connections, in milliseconds. */
const START_TIMEOUT_MS = 30_000;

/** Wait between two looks at a condition, in milliseconds. */
const POLL_MS = 10;

/** A server under test. */
export class MemcachedServer {
  readonly address: string;
  readonly #args: readonly string[];
  readonly #target: { readonly path: string } | { readonly host: string; readonly port: number };
  readonly #folder: string;
  #process: ChildProcess | undefined;

  constructor(target: { readonly path: string } | { readonly host: string; readonly port: number }, folder: string) {
    this.#target = target;
    this.#folder = folder;
    this.address = "path" in target ? target.path : `${target.host}:${target.port}`;
    this.#args = "path" in target ? ["-s", target.path] : ["-l", target.host, "-p", String(target.port), "-U", "0"];
  }

  /** Starts it (again), empty, and waits until it accepts connections. */
  async start(): Promise<void> {
    const user = process.getuid?.() === 0 ? ["-u", "root"] : [];
    this.#process = spawn("memcached", [...user, ...this.#args, "-m", "64"], { stdio: "ignore" });
    const failed = once(this.#process, "error").then(([error]) => {
      throw new Error("Cannot start memcached; install it with: apt-get install -y --no-install-recommends memcached", {
        cause: error,
      });
    });
    const answers = (): Promise<boolean> =>
      this.ask("version").then(
        () => true,
        () => false,
      );
    await Promise.race([failed, until(answers, START_TIMEOUT_MS, `memcached answers on ${this.address}`)]);
  }

  /** Lets it neither read nor answer. */
  async pause(): Promise<void> {
    await pauseProcess(this.#process?.pid);
  }

  /** Resumes it. */
  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  /** Ends it immediately, as a crash would. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running?.exitCode !== null) return; // Not started, or gone already.
    const gone = once(running, "exit");
    running.kill("SIGKILL");
    await gone;
  }

  /** Ends it and removes its folder. */
  async close(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The answer to a command, as lines without the END of a get. */
  async ask(command: string): Promise<readonly string[]> {
    const socket = connect(this.#target);
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

  /** A number of `stats`. */
  async stat(name: string): Promise<number> {
    const found = (await this.ask("stats")).find((line) => line.startsWith(`STAT ${name} `));
    return Number(found?.split(" ")[2]);
  }
}

/** Starts a server on TCP. */
export async function startMemcachedServer(): Promise<MemcachedServer> {
  const server = new MemcachedServer({ host: "127.0.0.1", port: await reservePort() }, await makeFolder());
  await server.start();
  return server;
}

/** Starts a server on a unix socket. */
export async function startMemcachedSocketServer(): Promise<MemcachedServer> {
  const folder = await makeFolder();
  const server = new MemcachedServer({ path: join(folder, "memcached.sock") }, folder);
  await server.start();
  return server;
}

/** Waits for a condition; fails after the deadline, naming it. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "weir-memcached-"));
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
