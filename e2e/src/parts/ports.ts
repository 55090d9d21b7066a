// Free ports as the programs of the stack need them, for tests and benchmarks; nobody else is given one of them until this process ends.
import { findFreePorts } from "@weir/testing/kubernetes/free-ports";
import { PORT_OWNERS, type StackPorts } from "../stack/settings.ts";

/** A free port of this machine. */
export async function findFreePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1);
  return port;
}

/** A free port for each listener of the stack. */
export async function anyPorts(): Promise<StackPorts> {
  const ports = await findFreePorts(PORT_OWNERS.length);
  return Object.fromEntries(PORT_OWNERS.map(({ port }, index) => [port, ports[index]])) as Record<keyof StackPorts, number>;
}
