// A real primary with replicas and sentinels for integration tests: redis-server processes on
// reserved ports of 127.0.0.1, ended by their process ids.
import { eventually, until } from "@weir/harness/processes/eventually";
import { type RedisOptions, type SentinelOptions, startRedis, startSentinel } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { Redis } from "ioredis";

/** The name that the sentinels have for the primary. */
export const PRIMARY_NAME = "mymaster";

/**
 * Longest wait for the sentinels to know everything, in milliseconds: they inform each other every
 * two seconds, and look around every ten.
 */
const AGREE_TIMEOUT_MS = 40_000;

/** Time after which sentinels take a silent server for dead, in milliseconds: a busy machine may pause it. */
const DOWN_AFTER_MS = 6000;

/** The options of the servers that are started. */
export interface SentinelServersOptions {
  /** Password of the servers, and of the user `default` there. */
  readonly password?: string;
  readonly sentinelPassword?: string;
  /** TLS everywhere, from files; clients need no certificate. */
  readonly tls?: NonNullable<RedisOptions["tls"]>;
}

/** A primary, two replicas and three sentinels. */
export class SentinelServers {
  readonly servers: readonly StoreServer[];
  readonly sentinels: readonly StoreServer[];
  readonly #options: SentinelServersOptions;

  constructor(servers: readonly StoreServer[], sentinels: readonly StoreServer[], options: SentinelServersOptions) {
    this.servers = servers;
    this.sentinels = sentinels;
    this.#options = options;
  }

  /** All sentinels, as KVSTORE_URL names them. */
  get url(): string {
    return [PRIMARY_NAME, ...this.sentinels.map(({ address }) => address)].join(",");
  }

  /** A connection of the test's own to a server. */
  client(server: StoreServer): Redis {
    return this.#connect(server, this.#options.password);
  }

  /** The server that says it is the primary, of those that run. */
  async primary(): Promise<StoreServer> {
    const look = async (): Promise<StoreServer> => {
      for (const server of this.servers.toReversed())
        if (server.pid !== undefined && (await this.roleOf(server)) === "master") return server;
      throw new Error("no server is");
    };
    return await eventually("a server to be the primary", look, AGREE_TIMEOUT_MS);
  }

  /** Resolves with the role that a server reports. */
  async roleOf(server: StoreServer): Promise<string> {
    const client = this.client(server);
    try {
      const [role] = await client.role();
      return String(role);
    } finally {
      client.disconnect();
    }
  }

  /** Sends a command to a sentinel and gives the reply. */
  async ask(sentinel: StoreServer, ...command: readonly string[]): Promise<unknown> {
    const client = this.#connect(sentinel, this.#options.sentinelPassword, false);
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
    for (const server of [...this.sentinels, ...this.servers]) await server.stop();
  }

  #connect({ host, port }: StoreServer, password: string | undefined, enableReadyCheck = true): Redis {
    const tls = this.#options.tls && { tls: { rejectUnauthorized: false } };
    const client = new Redis({ host, port, ...(password !== undefined && { password }), ...tls, enableReadyCheck });
    client.on("error", () => undefined); // A command that cannot be sent fails by itself.
    return client;
  }
}

/** Starts everything and waits until the sentinels agree. */
export async function startSentinelServers(options: SentinelServersOptions = {}): Promise<SentinelServers> {
  const { password, tls } = options;
  const auth = password === undefined ? [] : ["--requirepass", password, "--masterauth", password];
  const replication = tls === undefined ? [] : ["--tls-replication", "yes", "--tls-auth-clients", "no"];
  const flags = [...auth, ...replication, "--repl-diskless-sync-delay", "0"];
  const server = { flags, ...(tls !== undefined && { tls }) };
  const primary = await startRedis(undefined, server);
  const replica = { ...server, flags: [...flags, "--replicaof", "127.0.0.1", `${primary.port}`] };
  const servers = [primary, await startRedis(undefined, replica), await startRedis(undefined, replica)];
  const sentinels: StoreServer[] = [];
  const started = new SentinelServers(servers, sentinels, options);
  const client = started.client(primary);
  await until(
    async () => (await client.info("replication")).includes("connected_slaves:2"),
    AGREE_TIMEOUT_MS,
    "both replicas follow",
  );
  client.disconnect();
  while (sentinels.length < 3) sentinels.push(await startSentinel(undefined, primary.port, sentinelOptions(options)));
  await started.agree();
  return started;
}

function sentinelOptions({ password, sentinelPassword, tls }: SentinelServersOptions): SentinelOptions {
  return {
    ...(tls !== undefined && { tls }),
    quorum: 2,
    lines: [
      ...(sentinelPassword === undefined
        ? []
        : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
      `sentinel down-after-milliseconds ${PRIMARY_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${PRIMARY_NAME} 5000`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${PRIMARY_NAME} ${password}`]),
    ],
  };
}
