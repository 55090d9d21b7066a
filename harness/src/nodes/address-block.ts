// The addresses of one test cluster: pods, Services and DNS are at addresses of their own, so that each process
// listens on the ports of its Deployment. They are in 198.18.0.0/15, which RFC 2544 keeps for tests.
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/** Where the blocks are. */
const TEST_NETWORK = "198.18.0.0/15";

/** Blocks of 256 addresses in that network. */
const BLOCK_COUNT = 512;

/** How many blocks are tried for a free one. */
const ATTEMPTS_MAX = 100;

/** Within a block: pods are at 1 to 126, DNS is at 127, and the Services are in the upper half. */
const POD_LAST = 126;
const DNS_LAST_BYTE = 127;

/** Port of the sockets that mark a block as reserved, at the address of its DNS. */
const SIGN_PORT = 9;

/**
 * Reserves a block for this process, and routes it to the loopback interface. Needs root.
 *
 * @throws Error when this user may not make the addresses usable
 */
export async function reserveAddressBlock(): Promise<AddressBlock> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const index = randomInt(BLOCK_COUNT);
    const block = `198.${18 + Math.floor(index / 256)}.${index % 256}`;
    changeRoute("replace", block);
    const sign = createSocket("udp4");
    try {
      sign.bind({ port: SIGN_PORT, address: `${block}.${DNS_LAST_BYTE}`, exclusive: true });
      await once(sign, "listening");
      return new AddressBlock(block, sign);
    } catch {
      sign.close(); // Another cluster has it, or removes its route at this moment.
    }
  }
  throw new Error(`Cannot find a free block of addresses in ${TEST_NETWORK}`);
}

/** A reserved block. */
export class AddressBlock {
  /** Range of the Services, for the API server. */
  readonly serviceRange: string;
  readonly dnsAddress: string;
  readonly #block: string;
  readonly #sign: Socket;
  readonly #used = new Set<number>();
  #last = 0;

  constructor(block: string, sign: Socket) {
    this.#block = block;
    this.#sign = sign;
    this.serviceRange = `${block}.128/25`;
    this.dnsAddress = `${block}.${DNS_LAST_BYTE}`;
  }

  /** An address for a pod, as long as possible not one that another pod had. */
  takePodAddress(): string {
    for (let tried = 0; tried < POD_LAST; tried += 1) {
      this.#last = (this.#last % POD_LAST) + 1;
      if (this.#used.has(this.#last)) continue;
      this.#used.add(this.#last);
      return `${this.#block}.${this.#last}`;
    }
    throw new Error(`All ${POD_LAST} addresses of pods are in use`);
  }

  /** Returns the address of a pod that has ended. */
  releasePodAddress(address: string): void {
    this.#used.delete(Number(address.split(".")[3]));
  }

  /** Gives the block up: first its route, so that the next process that binds the sign has made a route of its own. */
  release(): void {
    changeRoute("del", this.#block);
    this.#sign.close();
  }
}

function changeRoute(verb: "replace" | "del", block: string): void {
  const args = ["route", verb, "local", `${block}.0/24`, "dev", "lo"];
  try {
    execFileSync("ip", args, { stdio: "ignore" });
  } catch (cause) {
    throw new Error(`Cannot route the addresses of pods: this needs root, to run \`ip ${args.join(" ")}\``, { cause });
  }
}
