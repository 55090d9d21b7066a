// A real redis-server for integration tests: on a reserved port of 127.0.0.1 and a unix socket, in
// a folder of its own, ended by its process id.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pauseProcess } from "@weir/harness/processes/pause-process";
import { reservePort } from "@weir/harness/processes/reserve-ports";

/** Longest wait for the server to accept connections, in milliseconds. */
const START_TIMEOUT_MS = 30_000;

/** Wait between two looks at a condition, in milliseconds. */
const POLL_MS = 10;

/** Arguments beyond the usual ones. */
export interface RedisServerOptions {
  readonly args?: readonly string[];
  /** TLS on the port, from files. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** A server under test. */
export class RedisServer {
  readonly port: number;
  readonly folder: string;
  readonly #options: RedisServerOptions;
  #process: ChildProcess | undefined;

  constructor(port: number, folder: string, options: RedisServerOptions) {
    this.port = port;
    this.folder = folder;
    this.#options = options;
  }

  get url(): string {
    return `127.0.0.1:${this.port}`;
  }

  get socketPath(): string {
    return join(this.folder, "redis.sock");
  }

  /** Whether its process runs. */
  get isRunning(): boolean {
    return this.#process?.exitCode === null;
  }

  /** Starts it (again) and waits until it accepts connections. */
  async start(): Promise<void> {
    const { tls, args = [] } = this.#options;
    const port = tls === undefined ? ["--port", `${this.port}`] : tlsArguments(this.port, tls);
    const common = [
      "--bind",
      "127.0.0.1",
      "--unixsocket",
      this.socketPath,
      "--save",
      "",
      "--appendonly",
      "no",
      "--dir",
      this.folder,
    ];
    this.#process = spawn("redis-server", [...port, ...common, ...args], { stdio: "ignore" });
    const failed = once(this.#process, "error").then(([error]) => {
      throw new Error(
        "Cannot start redis-server; install it with: apt-get install -y --no-install-recommends redis-server",
        {
          cause: error,
        },
      );
    });
    // The unix socket comes after the port, and belongs to this server.
    await Promise.race([
      failed,
      until(() => accepts(this.socketPath), START_TIMEOUT_MS, `redis-server accepts on port ${this.port}`),
    ]);
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
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Starts a server. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = new RedisServer(await reservePort(), await mkdtemp(join(tmpdir(), "weir-redis-")), options);
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

function tlsArguments(
  port: number,
  tls: { readonly cert: string; readonly key: string; readonly ca: string },
): string[] {
  return [
    "--port",
    "0",
    "--tls-port",
    `${port}`,
    "--tls-cert-file",
    tls.cert,
    "--tls-key-file",
    tls.key,
    "--tls-ca-cert-file",
    tls.ca,
  ];
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
