// The addresses of one node: itself, the machine as the node sees it, pods and Services. They are in 198.18.0.0/15, which
// RFC 2544 keeps for tests, and in a network that RFC 4193 leaves to everybody.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Blocks of 4,096 addresses in the network of tests. */
const BLOCK_COUNT = 32;

/** How many blocks are tried for a free one. */
const ATTEMPTS_MAX = 200;

/** The families of addresses that a node has. */
export type NodeFamilies = "IPv4" | "IPv6" | "both";

/** The addresses of one family, in one block. */
interface FamilyAddresses {
  /** Bits of the network between the machine and the node. */
  readonly linkBits: 24 | 64;
  /** The whole block, for the route of the machine. */
  readonly block: string;
  /** Address at which pods reach programs of the machine, such as tests. */
  readonly host: string;
  readonly node: string;
  readonly podRange: string;
  readonly serviceRange: string;
  /** The Service `kubernetes`: the first address of the range. */
  readonly apiService: string;
  readonly dns: string;
}

/** The addresses of a node: those of its first family, and all. */
export interface NodeAddresses extends FamilyAddresses {
  /** Number of the block, which no other node of this machine has. */
  readonly index: number;
  /** One or two. */
  readonly families: readonly FamilyAddresses[];
}

/** The addresses of a node that runs, until they are released. */
export type ReservedAddresses = NodeAddresses & { readonly release: () => void };

/** Reserves a block until this process ends or `release` is called; Linux gives up the abstract socket that holds it. */
export async function reserveNodeAddresses(families: NodeFamilies): Promise<ReservedAddresses> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const index = randomInt(BLOCK_COUNT);
    const sign = await listen(`\0weir-node-${index}`);
    if (sign === undefined) continue;
    const all = [...(families === "IPv6" ? [] : [ipv4Of(index)]), ...(families === "IPv4" ? [] : [ipv6Of(index)])];
    return { ...all[0]!, index, families: all, release: () => void sign.close() };
  }
  throw new Error(`Cannot start a node: all ${BLOCK_COUNT} blocks of 198.18.0.0/15 are in use`);
}

function ipv4Of(index: number): FamilyAddresses {
  const [network, first] = [`198.${18 + Math.floor(index / 16)}`, (index % 16) * 16];
  const inBlock = (third: number, last: number): string => `${network}.${first + third}.${last}`;
  return {
    linkBits: 24,
    block: `${inBlock(0, 0)}/20`,
    host: inBlock(0, 1),
    node: inBlock(0, 2),
    podRange: `${inBlock(1, 0)}/24`,
    serviceRange: `${inBlock(8, 0)}/21`,
    apiService: inBlock(8, 1),
    dns: inBlock(8, 10),
  };
}

function ipv6Of(index: number): FamilyAddresses {
  const inBlock = (part: number, last: string): string =>
    `fd57:6569:72${index.toString(16).padStart(2, "0")}:${part}::${last}`;
  return {
    linkBits: 64,
    block: `${inBlock(0, "")}/48`,
    host: inBlock(0, "1"),
    node: inBlock(0, "2"),
    podRange: `${inBlock(1, "")}/64`,
    serviceRange: `${inBlock(8, "")}/112`,
    apiService: inBlock(8, "1"),
    dns: inBlock(8, "a"),
  };
}

async function listen(path: string): Promise<Server | undefined> {
  const server = createServer();
  try {
    await once(server.listen(path), "listening");
    return server.unref();
  } catch {
    return undefined; // Another test has it.
  }
}
