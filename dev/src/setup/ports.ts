// Checks the ports of the stack before anything starts: one message names all that are in use, each
// with the setting that moves it.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { promisify } from "node:util";
import { DevError } from "../errors.ts";
import type { PortOwner, StackPorts } from "../settings.ts";
import { PORT_OWNERS } from "../settings.ts";

/** The address that everything in the local stack listens on. */
export const STACK_HOST = "127.0.0.1";

/**
 * Range of free ports: below those of outgoing connections (from 32768 on Linux, from 49152 by RFC
 * 6335), so that no such connection takes one between the check and its use.
 */
const FREE_PORTS = { first: 20_000, last: 32_000 } as const;

/** Ports of that range that are tried before the system chooses one. */
const FREE_PORT_ATTEMPTS = 50;

/**
 * Replaces every 0 by a free port and makes sure that all others are free.
 * Throws STACK_PORT_IN_USE naming every port that is taken or given twice.
 */
export async function claimPorts(wanted: StackPorts): Promise<StackPorts> {
  throwIfAny(
    wanted,
    PORT_OWNERS.flatMap((owner) => describeDouble(owner, wanted) ?? []),
  );
  const ports: Record<keyof StackPorts, number> = { ...wanted };
  const problems: PortProblem[] = [];
  // Probes stay open until all are decided, so that no free port is given out twice.
  const releases: (() => Promise<void>)[] = [];
  for (const owner of PORT_OWNERS) {
    const probe = await (wanted[owner.port] === 0 ? openFreeProbe() : openProbe(wanted[owner.port]));
    if (typeof probe === "string") problems.push({ owner, reason: probe });
    else {
      ports[owner.port] = probe.port;
      releases.push(probe.release);
    }
  }
  await Promise.all(releases.map((release) => release()));
  throwIfAny(wanted, problems);
  return ports;
}

interface PortProblem {
  readonly owner: PortOwner;
  readonly reason: string;
}

type Probe = { readonly port: number; readonly release: () => Promise<void> } | string;

async function openFreeProbe(): Promise<Probe> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS; attempt++) {
    const probe = await openProbe(randomInt(FREE_PORTS.first, FREE_PORTS.last));
    if (typeof probe !== "string") return probe;
  }
  return openProbe(0);
}

async function openProbe(port: number): Promise<Probe> {
  const server = createServer();
  try {
    await once(server.listen({ host: STACK_HOST, port, exclusive: true }), "listening");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "EADDRINUSE" ? "is in use" : `cannot be used (${message})`;
  }
  return { port: (server.address() as AddressInfo).port, release: () => promisify(server.close.bind(server))() };
}

function describeDouble(owner: PortOwner, ports: StackPorts): PortProblem | undefined {
  const earlier = PORT_OWNERS.slice(0, PORT_OWNERS.indexOf(owner)).find(
    (other) => ports[other.port] === ports[owner.port],
  );
  if (earlier === undefined || ports[owner.port] === 0) return undefined;
  return { owner, reason: `is given to ${earlier.what} (${earlier.setting}) as well` };
}

function throwIfAny(wanted: StackPorts, problems: readonly PortProblem[]): void {
  const first = problems[0];
  if (first === undefined) return;
  const lines = problems.map(
    ({ owner, reason }) => `  port ${wanted[owner.port]} for ${owner.what} ${reason}; ${owner.setting} moves it`,
  );
  const example = `For example: ${first.owner.setting}=${exampleValue(first.owner, wanted)} make run`;
  throw new DevError(
    "STACK_PORT_IN_USE",
    ["Cannot start the stack, nothing was started:", ...lines, example].join("\n"),
  );
}

// 100 up is free more often than not, and easy to remember; a port too high to go up goes down.
function exampleValue(owner: PortOwner, ports: StackPorts): string {
  const port = ports[owner.port] + (ports[owner.port] > 65000 ? -100 : 100);
  return owner.setting.endsWith("_ADDR") ? `:${port}` : String(port);
}
