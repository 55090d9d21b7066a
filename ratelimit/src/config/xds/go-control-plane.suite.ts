// A real go-control-plane server for tests, as a process of its own. It receives commands, and
// reports what clients send.
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import type { JsonValue } from "@bufbuild/protobuf";
import { pauseProcess } from "@weir/harness/processes/pause-process";

const BUILD_SCRIPT = fileURLToPath(new URL("../../../../tools/build-oracle.sh", import.meta.url));
const ORACLE = fileURLToPath(new URL("../../../oracle/ads-server", import.meta.url));

/**
 * Longest time that Go may take to download and build the server the first time, in milliseconds.
 */
const BUILD_TIMEOUT_MS = 300_000;

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 40_000;

/** A report of the server; the fields depend on the event. */
export interface ServerEvent {
  readonly event: "listening" | "published" | "cleared" | "refused" | "opened" | "closed" | "asked" | "sent";
  readonly port?: number;
  readonly stream?: number;
  readonly node?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly version?: string;
  readonly nonce?: string;
  readonly code?: number;
  readonly error?: string;
}

/** Where the server listens and whom it trusts. */
export interface ServerOptions {
  /** 0: any free one. */
  readonly port?: number;
  readonly certPath?: string;
  readonly keyPath?: string;
  readonly clientCaPath?: string;
}

/**
 * The path of the server's program, built if it is not there yet; undefined when there is no Go on
 * this machine.
 */
export function buildGoServer(): string | undefined {
  const { status, stdout, stderr } = spawnSync("sh", [BUILD_SCRIPT, ORACLE], {
    encoding: "utf8",
    timeout: BUILD_TIMEOUT_MS,
  });
  if (status === 0) return stdout.trim();
  // The script's own code for that; in CI Go is there, and its absence is a failure.
  if (status === 3 && (process.env["CI"] ?? "") === "") return undefined;
  throw new Error(`${BUILD_SCRIPT} ended with ${String(status)}: ${stderr}`);
}

/** The server. */
export class GoControlPlane {
  readonly events: ServerEvent[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #changed = Promise.withResolvers<void>();

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => {
      this.events.push(JSON.parse(line) as ServerEvent);
      this.#notify();
    });
    child.on("exit", () => this.#notify());
  }

  /** Starts it and waits until it listens. */
  static async open(
    program: string,
    { port = 0, certPath, keyPath, clientCaPath }: ServerOptions = {},
  ): Promise<GoControlPlane> {
    const flags = { address: `127.0.0.1:${port}`, cert: certPath, key: keyPath, "client-ca": clientCaPath };
    const args = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`-${name}=${value}`]));
    const server = new GoControlPlane(spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] }));
    await server.until((events) => events.some(({ event }) => event === "listening"));
    return server;
  }

  get port(): number {
    return this.events.find(({ event }) => event === "listening")?.port ?? 0;
  }

  /** What the clients asked, in the order of arrival. */
  get asked(): readonly ServerEvent[] {
    return this.events.filter(({ event }) => event === "asked");
  }

  /** Gives a node these configurations, in proto3 JSON, under this version. */
  publish(node: string, version: string, resources: readonly JsonValue[]): void {
    this.#child.stdin.write(`${JSON.stringify({ node, version, resources })}\n`);
  }

  /** Removes the node's snapshot; its clients receive nothing. */
  clear(node: string): void {
    this.#child.stdin.write(`${JSON.stringify({ node })}\n`);
  }

  /** Stops it for a while, as a hanging machine would, and continues it. */
  async freeze(isFrozen: boolean): Promise<void> {
    if (isFrozen) await pauseProcess(this.#child.pid);
    else this.#child.kill("SIGCONT");
  }

  /** Ends it as a crash would. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  /**
   * Resolves when the condition is true; fails with the events when that takes too long, or when
   * the server ends before.
   */
  async until(condition: (events: readonly ServerEvent[]) => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(WAIT_MAX_MS);
    while (!condition(this.events)) {
      if (this.#child.exitCode !== null) throw new Error(`the server ended with ${this.#child.exitCode}`);
      const aborted = new Promise<never>((_resolve, reject) => {
        deadline.addEventListener("abort", () =>
          reject(new Error(`waited too long; the server reported ${JSON.stringify(this.events)}`)),
        );
      });
      await Promise.race([this.#changed.promise, aborted]);
    }
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }
}
