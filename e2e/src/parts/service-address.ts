// One address in front of several servers of this machine, as a Kubernetes Service is: each
// connection goes to the next server in turn, whether that lives or not. A test can also cut what
// goes through it.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The address. */
export interface ServiceAddress {
  readonly port: number;
  /** Connections that reached it so far. */
  connections(): number;
  /** Ends every connection at once, both ways; later ones pass. */
  cut(): void;
  /** Ends every connection, and refuses new ones until `restore`. */
  block(): void;
  /** Lets connections pass again. */
  restore(): void;
  close(): Promise<void>;
}

/** Opens an address for servers at these ports. */
export async function openServiceAddress(...ports: readonly [number, ...number[]]): Promise<ServiceAddress> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let isBlocked = false;
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    const port = ports[connections % ports.length] ?? ports[0];
    connections += 1;
    if (isBlocked) client.resetAndDestroy();
    else join(client, connect(port, "127.0.0.1"), sockets);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    cut,
    block: () => {
      isBlocked = true;
      cut();
    },
    restore: () => {
      isBlocked = false;
    },
    close: async () => {
      cut();
      await once(server.close(), "close");
    },
  };
}

/** Lets bytes pass both ways until one of the two ends. */
function join(client: Socket, server: Socket, sockets: Set<Socket>): void {
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    sockets.add(from);
    from.setNoDelay(true);
    from.on("error", () => undefined); // Its close is told below.
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
