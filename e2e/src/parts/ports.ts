// Free ports as the programs of the stack need them, for tests and benchmarks; nobody else is given
// one of them until this process ends.
import { reservePorts } from "@weir/testing/reserve-ports";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";

/** A free port for each listener of the stack. */
export async function anyPorts(): Promise<StackPorts> {
  const ports = await reservePorts(PORT_OWNERS.length);
  return Object.fromEntries(PORT_OWNERS.map(({ port }, index) => [port, ports[index]])) as Record<
    keyof StackPorts,
    number
  >;
}
