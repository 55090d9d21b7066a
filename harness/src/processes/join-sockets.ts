// Passes the bytes of a connection on to another one, as a proxy of Kubernetes does.
import type { Socket } from "node:net";

/** Joins the two until one of them ends; `sockets` has them meanwhile. A failure of one resets the other. */
export function joinSockets(client: Socket, server: Socket, sockets: Set<Socket>): void {
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    sockets.add(from);
    from.setNoDelay(true);
    from.on("error", () => to.resetAndDestroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
