// The service with workers as a process, and clients of it, for system tests.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ChannelCredentials } from "@grpc/grpc-js";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { childrenOf, isRunning, socketInodes } from "@weir/harness/processes/processes";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { RateLimitService, type ServiceOptions, startRateLimitProgram } from "@weir/harness/weir/rate-limit-service";

/** A Redis server, rules in its folder, and services over them. */
export class WorkersFixture {
  readonly redis: StoreServer;
  readonly #closing: (() => unknown)[] = [];

  /** Starts the Redis server and writes a rule file. */
  static async open(rules: string): Promise<WorkersFixture> {
    const redis = await startRedis();
    mkdirSync(join(redis.folder, "config"));
    writeFileSync(join(redis.folder, "config", "rules.yaml"), rules);
    return new WorkersFixture(redis);
  }

  private constructor(redis: StoreServer) {
    this.redis = redis;
  }

  /** Starts a service and waits until it serves. */
  async start(env: Readonly<Record<string, string>>, options: ServiceOptions = {}): Promise<WorkersService> {
    const own = {
      BACKEND_TYPE: "kvstore",
      KVSTORE_SOCKET_TYPE: "tcp",
      KVSTORE_URL: this.redis.address,
      KVSTORE_COMMAND_TIMEOUT: "15s",
      RUNTIME_WATCH_ROOT: "true",
      DISABLE_STATS: "true",
      LOG_LEVEL: "info",
    };
    const { folder } = this.redis;
    const service = new WorkersService(await startRateLimitProgram(folder, {}, { ...own, ...env }, options));
    this.#closing.unshift(() => service.process.end());
    return service;
  }

  /** A client with one connection, such as to "127.0.0.1:8081" or "unix:/run/s". */
  client(address: string, channel?: ChannelCredentials): TestClient {
    const client = new TestClient(address, channel);
    this.#closing.unshift(() => client.close());
    return client;
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
    await this.redis.stop();
  }
}

/** A running service. */
export class WorkersService extends RateLimitService {
  /** The processes of its workers, those that run. */
  workers(): readonly number[] {
    return childrenOf(this.process.pid).filter(isRunning);
  }

  /** Open gRPC connections of each worker, in ascending order. */
  connections(): readonly number[] {
    const inodes = establishedInodes(this.grpcPort);
    return this.workers()
      .map((pid) => socketInodes(pid).filter((inode) => inodes.has(inode)).length)
      .sort((a, b) => a - b);
  }

  /** A page of the debug listener. */
  async page(path: string): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.debugPort}${path}`)).text();
  }
}

/** A client with one connection. */
export class TestClient extends RateLimitClient {
  /** Asks about one entry; fails with the status of the call. */
  ask(key: string, value: string, domain = "d"): Promise<RateLimitResponse> {
    return this.call({ domain, descriptors: [{ entries: [{ key, value }] }] });
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
