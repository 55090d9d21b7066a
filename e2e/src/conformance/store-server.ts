// Real stores for the conformance suite, each a process of its own in a temporary folder: Redis
// alone, with TLS, as a cluster, behind a sentinel, and memcached. Nothing is kept on disk that
// outlives the folder.
import { writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/testing/eventually";
import { reservePort } from "@weir/testing/reserve-ports";
import { runCommand } from "../parts/shell.ts";
import { STACK_HOST } from "@weir/dev/ports";
import { type ProcessGroup, startProcess } from "@weir/dev/process-group";
import { waitUntilReadyOrEnded } from "./ready-or-ended.ts";

/** Where the programs of the stores are, on Debian. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** How many nodes the cluster has: the least that Redis takes. */
const CLUSTER_NODES = 3;

/** A running store. */
export interface StoreServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Paths of the certificates of a store and of its clients. */
export interface StoreCertificates {
  readonly ca: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/**
 * Starts a redis-server with these flags behind the plain ones. `portFlag` is --tls-port for one
 * that speaks TLS only.
 */
export async function startRedisServer(
  folder: string,
  flags: readonly string[] = [],
  portFlag: "--port" | "--tls-port" = "--port",
): Promise<StoreServer> {
  const port = await reservePort();
  const plain = portFlag === "--tls-port" ? ["--port", "0"] : [];
  const args = [
    ...plain,
    portFlag,
    String(port),
    "--bind",
    STACK_HOST,
    "--save",
    "",
    "--appendonly",
    "no",
    "--dir",
    folder,
    ...flags,
  ];
  return startStore("redis-server", port, args);
}

/** Starts a sentinel that watches the server on `masterPort` under the name `mymaster`. */
export async function startSentinel(folder: string, masterPort: number): Promise<StoreServer> {
  const port = await reservePort();
  const path = join(folder, `sentinel-${port}.conf`);
  const lines = [
    `port ${port}`,
    `bind ${STACK_HOST}`,
    `dir ${folder}`,
    `sentinel monitor mymaster ${STACK_HOST} ${masterPort} 1`,
  ];
  writeFileSync(path, `${lines.join("\n")}\n`);
  return startStore("redis-sentinel", port, [path]);
}

/** Starts a cluster that covers every slot. */
export async function startCluster(folder: string): Promise<readonly StoreServer[]> {
  const nodes: StoreServer[] = [];
  const addresses: string[] = [];
  try {
    for (let index = 0; index < CLUSTER_NODES; index++) {
      const busPort = await reservePort();
      const flags = [
        "--cluster-enabled",
        "yes",
        "--cluster-config-file",
        `nodes-${index}.conf`,
        "--cluster-port",
        String(busPort),
      ];
      const node = await startRedisServer(folder, flags);
      nodes.push(node);
      addresses.push(`${STACK_HOST}:${node.port}@${busPort}`);
    }
    await run(`redis-cli --cluster create ${addresses.join(" ")} --cluster-yes`, folder);
    for (const { port } of nodes) {
      await eventually("the cluster to be whole", async () => {
        const { stdout } = await run(`redis-cli -h ${STACK_HOST} -p ${port} cluster info`, folder);
        if (!stdout.includes("cluster_state:ok")) throw new Error(stdout);
      });
    }
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
  return nodes;
}

/** Starts a memcached. */
export async function startMemcached(flags: readonly string[] = []): Promise<StoreServer> {
  const port = await reservePort();
  // As root it insists on being told whose rights it shall take.
  return startStore("memcached", port, ["-u", "nobody", "-l", STACK_HOST, "-p", String(port), "-U", "0", ...flags]);
}

/** Writes an authority with a certificate for a store on this machine and one for its clients. */
export async function writeStoreCertificates(folder: string): Promise<StoreCertificates> {
  const now = new Date();
  const path = (name: string): string => join(folder, name);
  const authority = await createAuthority({ commonName: "stores", now, validDays: 1 });
  const server = await authority.issue({
    commonName: "store",
    ipAddresses: [STACK_HOST],
    dnsNames: ["localhost"],
    usage: "server",
    now,
    validDays: 1,
  });
  const client = await authority.issue({
    commonName: "client",
    dnsNames: ["client.example"],
    usage: "client",
    now,
    validDays: 1,
  });
  const paths = {
    ca: path("store-ca.pem"),
    serverCert: path("store.pem"),
    serverKey: path("store.key"),
    clientCert: path("store-client.pem"),
    clientKey: path("store-client.key"),
  };
  writeFileSync(paths.ca, authority.certPem);
  writeFileSync(paths.serverCert, server.certPem);
  writeFileSync(paths.serverKey, server.keyPem);
  writeFileSync(paths.clientCert, client.certPem);
  writeFileSync(paths.clientKey, client.keyPem);
  return paths;
}

async function startStore(program: string, port: number, args: readonly string[]): Promise<StoreServer> {
  const process = await startProcess({ name: program, command: "env", args: [program, ...args], env: { PATH } });
  await waitUntilReadyOrEnded(process, () => connectOnce(port));
  return { port, stop: () => stopStore(process) };
}

async function stopStore(process: ProcessGroup): Promise<void> {
  await process.stop("SIGTERM", 3000);
}

function connectOnce(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: STACK_HOST, port });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}

async function run(command: string, folder: string): Promise<{ readonly stdout: string }> {
  const { code, stdout, stderr } = await runCommand(command, { cwd: folder, env: { PATH } });
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`);
  return { stdout };
}
