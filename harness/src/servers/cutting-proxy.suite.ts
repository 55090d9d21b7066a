// A TCP proxy in front of a server that cuts connections, refuses them, drops their bytes or delays
// them.
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
  /** Passes on what the server sends this many milliseconds later, until `restore`. */
  delay(ms: number): void;
  restore(): void;
  /**
   * Passes on the next `count` requests that contain `text`, one per connection, and cuts the
   * connection in place of the answer; calls `onLost` then.
   */
  loseAnswers(text: string, count: number, onLost?: () => void): void;
  /** Answers that were lost that way. */
  readonly lostAnswers: number;
  /**
   * Cuts each connection after this many bytes from the server; 0 for never. The function is called
   * for every new connection.
   */
  cutAfter(bytes: () => number): void;
  /** Calls the listener with everything that clients send from now on. */
  onRequest(listener: (chunk: Buffer) => void): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a port of this machine. */
export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let isBlocked = false;
  let isSwallowing = false;
  let delayMs = 0;
  let onRequest = (_chunk: Buffer): void => undefined;
  let losing = { text: "", count: 0, onLost: (): void => undefined };
  let lostAnswers = 0;
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
    let losesAnswer = false;
    const forward = (from: Socket, to: Socket, pass: (chunk: Buffer) => void): void => {
      sockets.add(from);
      from.on("data", (chunk: Buffer) => {
        if (!isSwallowing) pass(chunk);
      });
      from.on("error", () => undefined); // Handled when it closes.
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    };
    forward(client, target, (chunk) => {
      onRequest(chunk);
      if (losing.count > 0 && chunk.includes(losing.text)) {
        losing.count -= 1;
        losesAnswer = true;
      }
      target.write(chunk);
    });
    forward(target, client, (chunk) => {
      if (losesAnswer) {
        if (client.destroyed) return; // A further piece of the same answer.
        lostAnswers += 1;
        client.resetAndDestroy();
        losing.onLost();
      } else if (delayMs > 0) {
        setTimeout(() => client.write(chunk), delayMs);
      } else {
        client.write(chunk);
        left -= chunk.length;
        if (left <= 0) client.resetAndDestroy();
      }
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
    delay: (ms) => {
      delayMs = ms;
    },
    onRequest: (listener) => {
      onRequest = listener;
    },
    loseAnswers: (text, count, onLost = () => undefined) => {
      losing = { text, count, onLost };
    },
    get lostAnswers() {
      return lostAnswers;
    },
    restore: () => {
      delayMs = 0;
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
