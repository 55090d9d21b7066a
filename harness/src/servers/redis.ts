// Real Redis servers for tests: alone, with TLS, as a cluster, behind a sentinel. Their files are in
// the folder of the test, or in one of their own; nothing is persisted.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../processes/eventually.ts";
import { reservePort } from "../processes/reserve-ports.ts";
import type { CertificateFiles } from "./certificate-files.ts";
import { HOST, type StoreOptions, StoreServer } from "./store-server.ts";

/** Nodes of a cluster: the fewest that Redis takes. */
const CLUSTER_NODES = 3;

/** Longest wait for a reply, in milliseconds. */
const REPLY_TIMEOUT_MS = 20_000;

/** How to start a Redis server. */
export interface RedisOptions extends StoreOptions {
  /** Speaks only TLS on its port, and asks clients for a certificate. */
  readonly tls?: Pick<CertificateFiles, "ca" | "serverCert" | "serverKey">;
}

/** Starts a Redis server with an empty keyspace, on a port and on a unix socket. */
export async function startRedis(folder?: string, { tls, ...options }: RedisOptions = {}): Promise<StoreServer> {
  return StoreServer.run(
    folder,
    "redis-server",
    ({ port, socketPath, folder: own }) => [
      ...(tls === undefined ? ["--port", String(port)] : ["--port", "0", "--tls-port", String(port), ...tlsFlags(tls)]),
      ...["--bind", options.host ?? HOST, "--protected-mode", "no", "--unixsocket", socketPath],
      ...["--save", "", "--appendonly", "no", "--dir", own],
    ],
    options,
    "socket", // It comes after the port.
  );
}

/** How a sentinel differs from one alone in plaintext. */
export interface SentinelOptions extends Pick<RedisOptions, "tls" | "host"> {
  /** How many sentinels must agree that the server is gone. */
  readonly quorum?: number;
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
}

/** Starts a sentinel that watches the server on `masterPort` under the name `mymaster`. */
export async function startSentinel(
  given: string | undefined,
  masterPort: number,
  { tls, quorum = 1, lines = [], host = HOST }: SentinelOptions = {},
): Promise<StoreServer> {
  const argsFor = ({ port, folder }: { readonly port: number; readonly folder: string }): readonly string[] => {
    const path = join(folder, `sentinel-${port}.conf`);
    const listens = tls === undefined ? [`port ${port}`] : ["port 0", `tls-port ${port}`, ...tlsLines(tls)];
    const watches = `sentinel monitor mymaster ${host} ${masterPort} ${quorum}`;
    writeFileSync(path, `${[...listens, `bind ${host}`, `dir ${folder}`, watches, ...lines].join("\n")}\n`);
    return [path];
  };
  return StoreServer.run(given, "redis-sentinel", argsFor, { host });
}

/** Starts a cluster whose nodes cover every slot. */
export async function startRedisCluster(folder: string): Promise<readonly StoreServer[]> {
  const nodes: StoreServer[] = [];
  const addresses: string[] = [];
  try {
    for (let index = 0; index < CLUSTER_NODES; index++) {
      const busPort = await reservePort();
      const config = ["--cluster-enabled", "yes", "--cluster-config-file", `nodes-${index}.conf`];
      const node = await startRedis(folder, { flags: [...config, "--cluster-port", String(busPort)] });
      nodes.push(node);
      addresses.push(`${node.address}@${busPort}`);
    }
    await promisify(execFile)("redis-cli", ["--cluster", "create", ...addresses, "--cluster-yes"]);
    for (const node of nodes) {
      await eventually("the cluster to cover every slot", async () => {
        const info = await sendCommand(node, "CLUSTER", "INFO");
        if (!info.includes("cluster_state:ok")) throw new Error(info);
      });
    }
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
  return nodes;
}

/** Sends one command over a connection of its own, and resolves with the beginning of the raw reply. */
export async function sendCommand({ host, port }: StoreServer, ...words: readonly string[]): Promise<string> {
  const socket = connect({ host, port });
  socket.setEncoding("utf8");
  socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
  try {
    const [reply] = (await once(socket, "data", { signal: AbortSignal.timeout(REPLY_TIMEOUT_MS) })) as [string];
    return reply;
  } finally {
    socket.destroy();
  }
}

function tlsFlags({ ca, serverCert, serverKey }: NonNullable<RedisOptions["tls"]>): readonly string[] {
  return [
    ...["--tls-cert-file", serverCert, "--tls-key-file", serverKey],
    ...["--tls-ca-cert-file", ca, "--tls-auth-clients", "yes"],
  ];
}

/** Between sentinels and servers too; clients need no certificate. */
function tlsLines({ ca, serverCert, serverKey }: NonNullable<RedisOptions["tls"]>): readonly string[] {
  const files = [`tls-cert-file ${serverCert}`, `tls-key-file ${serverKey}`, `tls-ca-cert-file ${ca}`];
  return ["tls-replication yes", "tls-auth-clients no", ...files];
}
