// A go-control-plane server: what Envoy Gateway's discovery server for rate limit pods consists of. It receives
// commands, and reports what clients send.
import { createInterface } from "node:readline";

import { eventually } from "../processes/eventually.ts";
import { ROOT, runCommand } from "../processes/programs.ts";
import { type Program, startProgram } from "../processes/start-process.ts";

/** A report of the server; the fields depend on the event. */
interface ServerEvent {
  readonly event: "listening" | "published" | "cleared" | "refused" | "opened" | "closed" | "asked" | "sent";
  /** Of the incremental method. */
  readonly delta?: boolean;
  /** Versions by name that the client of a first request holds. */
  readonly held?: Readonly<Record<string, string>>;
  /** Names in a response. */
  readonly changed?: readonly string[];
  readonly removed?: readonly string[];
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

/** Address of the server, its certificate, and the authority of the clients that it trusts. */
export interface GoControlPlaneOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** 0: any free one. */
  readonly port?: number;
  readonly certPath?: string;
  readonly keyPath?: string;
  /** With it, the server asks its clients for a certificate. */
  readonly clientCaPath?: string;
}

/** Starts the server, and builds it first unless that was done. */
export async function startGoControlPlane({
  host = "127.0.0.1",
  port = 0,
  certPath,
  keyPath,
  clientCaPath,
}: GoControlPlaneOptions = {}): Promise<GoControlPlane> {
  const built = await runCommand(`sh tools/build-oracle.sh ratelimit/oracle/ads-server`, { cwd: ROOT });
  if (built.code !== 0) throw new Error(`Cannot start go-control-plane: ${built.stderr}`);
  const flags = { address: `${host}:${port}`, cert: certPath, key: keyPath, "client-ca": clientCaPath };
  const args = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`-${name}=${value}`]));
  const server = new GoControlPlane(startProgram(built.stdout.trim(), args, {}, { hasInput: true }));
  await server.until(() => server.port > 0);
  return server;
}

/** A running server. */
export class GoControlPlane {
  readonly events: ServerEvent[] = [];
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
    createInterface(program.child.stdout!).on("line", (line) => this.events.push(JSON.parse(line) as ServerEvent));
  }

  get port(): number {
    return this.events.find(({ event }) => event === "listening")?.port ?? 0;
  }

  /** Requests of the clients, in the order of arrival. */
  get asked(): readonly ServerEvent[] {
    return this.events.filter(({ event }) => event === "asked");
  }

  /** Gives a node these configurations, in proto3 JSON, under this version. */
  publish(node: string, version: string, resources: readonly unknown[]): void {
    this.#send({ node, version, resources });
  }

  /** The same; resolves when the node has ACKed them, throws when it NACKs. */
  async deliver(node: string, version: string, resources: readonly unknown[]): Promise<void> {
    const before = this.events.length;
    this.publish(node, version, resources);
    const answer = (): ServerEvent | undefined =>
      this.events
        .slice(before)
        .find(
          (each) =>
            each.error !== undefined || (each.event === "asked" && each.node === node && each.version === version),
        );
    await this.until(() => answer() !== undefined);
    const error = answer()?.error;
    if (error !== undefined) throw new Error(`NACK, or no configuration: ${error}`);
  }

  /** Removes the node's snapshot; its clients receive nothing. */
  clear(node: string): void {
    this.#send({ node });
  }

  /** Stops it for a while, as a hanging machine would, and continues it. */
  async freeze(isFrozen: boolean): Promise<void> {
    if (isFrozen) await this.#program.pause();
    else this.#program.resume();
  }

  /** Ends it as a crash would. */
  async stop(): Promise<void> {
    await this.#program.end();
  }

  /** Resolves when the condition is true; fails with the events when that takes too long, or when the server ends. */
  async until(condition: () => boolean): Promise<void> {
    await eventually("go-control-plane", () => {
      if (this.#program.isRunning() && !condition()) throw new Error(JSON.stringify(this.events));
    });
    if (!condition()) throw this.#program.endedError(await this.#program.exited);
  }

  #send(command: unknown): void {
    this.#program.child.stdin!.write(`${JSON.stringify(command)}\n`);
  }
}
