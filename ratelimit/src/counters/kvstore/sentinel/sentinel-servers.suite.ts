// A real primary with replicas and sentinels for integration tests: redis-server processes on
// reserved ports of 127.0.0.1, ended by their process ids.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type RedisServer, startRedisServer, until } from "../redis-server.suite.ts";

/** What the sentinels call the primary. */
export const PRIMARY_NAME = "mymaster";

/**
 * Longest wait for the sentinels to know everything, in milliseconds: they inform each other every
 * two seconds, and look around every ten.
 */
const AGREE_TIMEOUT_MS = 40_000;

/** Time after which sentinels take a silent server for dead, in milliseconds: a busy machine may pause it. */
const DOWN_AFTER_MS = 6000;

/** What is started. */
export interface SentinelServersOptions {
  /** Password of the servers, and of the user `default` there. */
  readonly password?: string;
  /** Password of the sentinels. */
  readonly sentinelPassword?: string;
  /** TLS everywhere, from files; clients need no certificate. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** One sentinel. */
export class SentinelServer {
  readonly port: number;
  readonly #file: string;
  #process: ChildProcess | undefined;

  constructor(port: number, file: string) {
    this.port = port;
    this.#file = file;
  }

  /** Starts it (again). */
  start(): void {
    this.#process = spawn("redis-server", [this.#file, "--sentinel"], { stdio: "ignore" });
  }

  /** Ends it immediately. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running?.exitCode !== null) return;
    const gone = once(running, "exit");
    running.kill("SIGKILL");
    await gone;
  }
}

/** A primary, two replicas and three sentinels. */
export class SentinelServers {
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly SentinelServer[];
  readonly #folder: string;
  readonly #options: SentinelServersOptions;

  constructor(
    parts: {
      readonly servers: readonly RedisServer[];
      readonly sentinels: readonly SentinelServer[];
      readonly folder: string;
    },
    options: SentinelServersOptions,
  ) {
    this.servers = parts.servers;
    this.sentinels = parts.sentinels;
    this.#folder = parts.folder;
    this.#options = options;
  }

  /** All sentinels, as KVSTORE_URL names them. */
  get url(): string {
    return [PRIMARY_NAME, ...this.sentinels.map(({ port }) => `127.0.0.1:${port}`)].join(",");
  }

  /** A connection of the test's own to a server. */
  client(server: RedisServer): Redis {
    const { password, tls } = this.#options;
    return new Redis({
      port: server.port,
      host: "127.0.0.1",
      ...(password !== undefined && { password }),
      ...(tls !== undefined && { tls: { rejectUnauthorized: false } }),
    });
  }

  /** The server that says it is the primary, of those that run. */
  async primary(): Promise<RedisServer> {
    let found: RedisServer | undefined;
    const look = async (): Promise<boolean> => {
      for (const server of this.servers.filter((each) => each.isRunning)) {
        if ((await this.roleOf(server)) === "master") found = server;
      }
      return found !== undefined;
    };
    await until(look, AGREE_TIMEOUT_MS, "a server is the primary");
    if (found === undefined) throw new Error("No server is the primary");
    return found;
  }

  /** What a server says it is. */
  async roleOf(server: RedisServer): Promise<string> {
    const client = this.client(server);
    try {
      const [role] = await client.role();
      return String(role);
    } finally {
      client.disconnect();
    }
  }

  /** Sends a command to a sentinel and gives the reply. */
  async ask(sentinel: SentinelServer, ...command: readonly string[]): Promise<unknown> {
    const { sentinelPassword, tls } = this.#options;
    const client = new Redis({
      port: sentinel.port,
      host: "127.0.0.1",
      enableReadyCheck: false,
      ...(sentinelPassword !== undefined && { password: sentinelPassword }),
      ...(tls !== undefined && { tls: { rejectUnauthorized: false } }),
    });
    client.on("error", () => undefined); // A command that cannot be sent fails by itself.
    try {
      return await client.call("SENTINEL", ...command);
    } finally {
      client.disconnect();
    }
  }

  /** Waits until all sentinels know each other and both replicas. */
  async agree(): Promise<void> {
    for (const sentinel of this.sentinels) {
      await until(
        async () => {
          const fields = await this.ask(sentinel, "master", PRIMARY_NAME).catch(() => []);
          const text = Array.isArray(fields) ? fields.join(" ") : "";
          return text.includes("num-slaves 2") && text.includes("num-other-sentinels 2");
        },
        AGREE_TIMEOUT_MS,
        "the sentinels agree",
      );
    }
  }

  /** Ends everything and removes its folders. */
  async close(): Promise<void> {
    for (const sentinel of this.sentinels) await sentinel.kill();
    for (const server of this.servers) await server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Starts everything and waits until the sentinels agree. */
export async function startSentinelServers(options: SentinelServersOptions = {}): Promise<SentinelServers> {
  const { password, tls } = options;
  const auth = password === undefined ? [] : ["--requirepass", password, "--masterauth", password];
  const replication = tls === undefined ? [] : ["--tls-replication", "yes", "--tls-auth-clients", "no"];
  const args = [...auth, ...replication, "--repl-diskless-sync-delay", "0"];
  const server = { args, ...(tls !== undefined && { tls }) };
  const primary = await startRedisServer(server);
  const replica = { ...server, args: [...args, "--replicaof", "127.0.0.1", `${primary.port}`] };
  const servers = [primary, await startRedisServer(replica), await startRedisServer(replica)];
  const folder = await mkdtemp(join(tmpdir(), "weir-sentinel-"));
  const sentinels: SentinelServer[] = [];
  const started = new SentinelServers({ servers, sentinels, folder }, options);
  const client = started.client(primary);
  await until(
    async () => (await client.info("replication")).includes("connected_slaves:2"),
    AGREE_TIMEOUT_MS,
    "both replicas follow",
  );
  client.disconnect();
  for (let index = 0; index < 3; index++) {
    const port = await reservePort();
    const file = join(folder, `sentinel-${index}.conf`);
    await writeFile(file, sentinelFile({ port, folder, primaryPort: primary.port }, options));
    const sentinel = new SentinelServer(port, file);
    sentinel.start();
    sentinels.push(sentinel);
  }
  await started.agree();
  return started;
}

function sentinelFile(
  { port, folder, primaryPort }: { readonly port: number; readonly folder: string; readonly primaryPort: number },
  { password, sentinelPassword, tls }: SentinelServersOptions,
): string {
  const listen =
    tls === undefined ? [`port ${port}`] : ["port 0", `tls-port ${port}`, "tls-replication yes", "tls-auth-clients no"];
  const files =
    tls === undefined ? [] : [`tls-cert-file ${tls.cert}`, `tls-key-file ${tls.key}`, `tls-ca-cert-file ${tls.ca}`];
  return [
    ...listen,
    ...files,
    "bind 127.0.0.1",
    `dir ${folder}`,
    ...(sentinelPassword === undefined
      ? []
      : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
    `sentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${PRIMARY_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${PRIMARY_NAME} 5000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${PRIMARY_NAME} ${password}`]),
    "",
  ].join("\n");
}
