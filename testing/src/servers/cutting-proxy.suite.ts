// A TCP proxy in front of a server that cuts connections, refuses them or drops their bytes.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy for TCP on a port of its own. */
export interface CuttingProxy {
  readonly port: number;
  /** Connections made so far. */
  readonly connections: number;
  /** Ends every connection immediately, both ways. */
  cut(): void;
  /** Refuses new connections, and ends the open ones, until `restore`. */
  block(): void;
  /** Ends the open connections, and lets new ones wait, taken but not answered, until `restore`. */
  hold(): void;
  /**
   * Swallows everything both ways without ending anything, as a network does that lost its way,
   * until `restore`; what was swallowed is lost.
   */
  swallow(): void;
  restore(): void;
  /**
   * Cuts each connection after this many bytes from the server; 0 for never. The function is called
   * for every new connection.
   */
  cutAfter(bytes: () => number): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a port of this machine. */
export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let isBlocked = false;
  let isSwallowing = false;
  /** Continues the held connections; undefined while none are held. */
  let held: (() => void)[] | undefined;
  let bytesOf = (): number => 0;
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const open = (client: Socket): void => {
    if (client.destroyed) return;
    const target = connect(targetPort, "127.0.0.1");
    let left = bytesOf() || Infinity;
    const forward = (from: Socket, to: Socket, count: (bytes: number) => void): void => {
      sockets.add(from);
      from.on("data", (chunk: Buffer) => {
        if (isSwallowing) return;
        to.write(chunk);
        count(chunk.length);
      });
      from.on("error", () => undefined); // Handled when it closes.
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    };
    forward(client, target, () => undefined);
    forward(target, client, (bytes) => {
      left -= bytes;
      if (left <= 0) client.resetAndDestroy();
    });
  };
  const server = createServer((client) => {
    connections += 1;
    if (isBlocked) {
      client.resetAndDestroy();
    } else if (held === undefined) {
      open(client);
    } else {
      client.on("error", () => undefined); // It may not wait so long.
      client.on("close", () => sockets.delete(client));
      sockets.add(client);
      held.push(() => open(client));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    cut,
    block: () => {
      isBlocked = true;
      cut();
    },
    hold: () => {
      held ??= [];
      cut();
    },
    swallow: () => {
      isSwallowing = true;
    },
    restore: () => {
      isBlocked = false;
      isSwallowing = false;
      for (const resume of held ?? []) resume();
      held = undefined;
    },
    cutAfter: (bytes) => {
      bytesOf = bytes;
    },
    close: async () => {
      cut();
      await once(server.close(), "close");
    },
  };
}
