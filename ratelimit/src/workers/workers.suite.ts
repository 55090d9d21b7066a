// The service with workers as a process, and clients of it, for system tests.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { create } from "@bufbuild/protobuf";
import { type ChannelCredentials, Client, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { eventually } from "@weir/harness/processes/eventually";
import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { childrenOf, isRunning } from "@weir/harness/processes/processes";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";

import { FREE_PORTS } from "../startup/started-program.suite.ts";

/** The service from its source, as arguments of Node.js. */
const SOURCE = ["--conditions=source", fileURLToPath(new URL("../main.ts", import.meta.url))];

/** The service as it was built. */
export const BUILT = [fileURLToPath(new URL("../../dist/main.js", import.meta.url))];

/** Longest wait for a response, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;

/** A reconnection comes soon. */
const CHANNEL = {
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 200,
  "grpc.ssl_target_name_override": "localhost",
} as const;

/** A folder with rules, a Redis server, and services over them. */
export class WorkersFixture {
  readonly folder: string;
  readonly redis: StoreServer;
  readonly #closing: (() => unknown)[] = [];

  /** Starts the Redis server and writes a rule file. */
  static async open(rules: string): Promise<WorkersFixture> {
    const folder = await mkdtemp(join(tmpdir(), "weir-workers-"));
    await mkdir(join(folder, "config"));
    await writeFile(join(folder, "config", "rules.yaml"), rules);
    return new WorkersFixture(folder, await startRedis(folder));
  }

  private constructor(folder: string, redis: StoreServer) {
    this.folder = folder;
    this.redis = redis;
  }

  /** Starts a service and waits until it serves. */
  async start(env: Readonly<Record<string, string>>, args: readonly string[] = SOURCE): Promise<WorkersService> {
    const program = startProgram(process.execPath, [...args], {
      ...FREE_PORTS,
      BACKEND_TYPE: "kvstore",
      KVSTORE_SOCKET_TYPE: "tcp",
      KVSTORE_URL: this.redis.address,
      KVSTORE_COMMAND_TIMEOUT: "15s",
      RUNTIME_ROOT: this.folder,
      SHUTDOWN_DRAIN: "0",
      DISABLE_STATS: "true",
      LOG_LEVEL: "info",
      ...env,
    });
    this.#closing.unshift(() => program.end());
    const service = new WorkersService(program);
    await eventually("the service", () => service.port("HTTP"));
    return service;
  }

  /** A client with one connection, such as to "127.0.0.1:8081" or "unix:/run/s". */
  client(address: string, channel: ChannelCredentials = credentials.createInsecure()): TestClient {
    const client = new TestClient(address, channel);
    this.#closing.unshift(() => client.close());
    return client;
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
    await this.redis.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A running service. */
export class WorkersService {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  /** The process that the others belong to. */
  get pid(): number {
    return this.#program.pid;
  }

  /** What it has logged. */
  log(): string {
    return this.#program.errors();
  }

  /** The port of a listener on 127.0.0.1. */
  port(what: "gRPC" | "HTTP" | "debug"): number {
    const port = new RegExp(`Listening for ${what} on 127.0.0.1:(\\d+)`).exec(this.log())?.[1];
    if (port === undefined) throw new Error(`It does not listen for ${what}:\n${this.log()}`);
    return Number(port);
  }

  /** The address of gRPC. */
  get address(): string {
    return `127.0.0.1:${this.port("gRPC")}`;
  }

  /** The processes of its workers, those that run. */
  workers(): readonly number[] {
    return childrenOf(this.pid).filter(isRunning);
  }

  /** Open gRPC connections of each worker, in ascending order. */
  connections(): readonly number[] {
    const inodes = establishedInodes(this.port("gRPC"));
    return this.workers()
      .map((pid) => socketInodes(pid).filter((inode) => inodes.has(inode)).length)
      .sort((a, b) => a - b);
  }

  /** A page of the debug listener. */
  async page(path: string): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.port("debug")}${path}`)).text();
  }

  /** A counter or gauge on /stats. */
  async statistic(name: string): Promise<number> {
    const line = (await this.page("/stats")).split("\n").find((each) => each.startsWith(`${name}: `));
    if (line === undefined) throw new Error(`There is no statistic ${name}`);
    return Number(line.slice(name.length + 2));
  }

  /** Sends a signal and returns the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null> {
    return this.#program.end(signal);
  }
}

/** A client with one connection. */
export class TestClient {
  readonly #client: Client;

  constructor(address: string, channel: ChannelCredentials) {
    this.#client = new Client(address, channel, CHANNEL);
  }

  /** Asks about one entry; fails with the status of the call. */
  ask(key: string, value: string, domain = "d"): Promise<RateLimitResponse> {
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
    const request = create(RateLimitRequestSchema, { domain, descriptors: [{ entries: [{ key, value }] }] });
    const deadline = Date.now() + CALL_TIMEOUT_MS;
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: RateLimitResponse): void => {
        if (response === undefined) reject(error ?? new Error("The response is empty"));
        else resolve(response);
      };
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, done);
    });
  }

  close(): void {
    this.#client.close();
  }
}

/** The inodes of established connections to a local port of IPv4, from proc(5). */
function establishedInodes(port: number): ReadonlySet<string> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return new Set(
    rows.flatMap(([, address, , state, , , , , , inode]) =>
      address?.endsWith(local) === true && state === "01" ? [inode ?? ""] : [],
    ),
  );
}

/** The inodes of the sockets of a process. */
function socketInodes(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(folder, name)))?.[1] ?? [];
    } catch {
      return []; // Closed between the listing and this look.
    }
  });
}
