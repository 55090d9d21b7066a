// A real go-control-plane server, which Envoy Gateway's discovery server for rate limit pods consists of, as
// a process of its own: it receives commands, and reports what clients send.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

import { eventually } from "../processes/eventually.ts";
import { pauseProcess } from "../processes/pause-process.ts";
import { ROOT, runCommand } from "../processes/programs.ts";

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

/** Where the server listens, and its files: with an authority of its clients it requires their certificates. */
export interface ServerOptions {
  /** Default: any free one. */
  readonly port?: number;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
}

/** The server. */
export class GoControlPlane {
  readonly events: ServerEvent[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => this.events.push(JSON.parse(line) as ServerEvent));
  }

  /** Builds it unless it is built, starts it and waits until it listens. */
  static async open({ port = 0, cert, key, clientCa }: ServerOptions = {}): Promise<GoControlPlane> {
    const built = await runCommand("sh tools/build-oracle.sh ratelimit/oracle/ads-server", { cwd: ROOT });
    if (built.code !== 0) throw new Error(`Cannot start go-control-plane: ${built.stderr}`);
    const flags = { address: `127.0.0.1:${port}`, cert, key, "client-ca": clientCa };
    const args = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`-${name}=${value}`]));
    const server = new GoControlPlane(spawn(built.stdout.trim(), args, { stdio: ["pipe", "pipe", "inherit"] }));
    await server.until((events) => events.length > 0);
    return server;
  }

  get port(): number {
    return this.events[0]?.port ?? 0;
  }

  /** The requests of the clients, in the order of arrival. */
  get asked(): readonly ServerEvent[] {
    return this.events.filter(({ event }) => event === "asked");
  }

  /** Gives a node these configurations, in proto3 JSON, under this version. */
  publish(node: string, version: string, resources: readonly unknown[]): void {
    this.#child.stdin.write(`${JSON.stringify({ node, version, resources })}\n`);
  }

  /** The same; resolves when the node has ACKed them, and throws when it NACKs. */
  async publishAndAwait(node: string, version: string, resources: readonly unknown[]): Promise<void> {
    const before = this.events.length;
    this.publish(node, version, resources);
    const answer = (each: ServerEvent): boolean =>
      each.error !== undefined || (each.event === "asked" && each.node === node && each.version === version);
    await this.until((events) => events.slice(before).some(answer));
    const { error } = this.events.slice(before).find(answer)!;
    if (error !== undefined) throw new Error(`NACK, or no configuration: ${error}`);
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
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Resolves when the condition is true. */
  async until(condition: (events: readonly ServerEvent[]) => boolean): Promise<void> {
    await eventually("go-control-plane", () => {
      if (!condition(this.events)) throw new Error(`it reported ${JSON.stringify(this.events)}`);
    });
  }
}
