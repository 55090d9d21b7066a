// A proxy in front of a real store for faults that the store itself cannot be made to have: slow
// replies, replies and commands that are cut off in the middle, and a way that leads nowhere.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** What happens to the replies of the store. */
export type ReplyFate =
  | { readonly kind: "pass" }
  /** Neither they nor commands get through, and never will. */
  | { readonly kind: "drop" }
  /** They come later. */
  | { readonly kind: "delay"; readonly ms: number }
  /** So many bytes of the next one come, then the connection ends; later ones pass. */
  | { readonly kind: "cut"; readonly bytes: number };

/** A proxy under test. */
export class StoreProxy {
  fate: ReplyFate = { kind: "pass" };
  /**
   * The next piece that contains this text reaches the store only up to it; then the connection ends.
   */
  cutRequestAt: string | undefined;
  /** What clients have sent in one piece each, since the proxy began. */
  readonly pieces: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.#server = createServer((client) => this.#connect(client, port));
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy has no port");
    return `127.0.0.1:${address.port}`;
  }

  /** Number of connections of clients. */
  get connections(): number {
    return this.#sockets.size / 2;
  }

  async open(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #connect(client: Socket, port: number): void {
    const store = connect(port, "127.0.0.1");
    for (const socket of [client, store]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined); // What matters is that it closes.
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        store.destroy();
      });
    }
    client.on("data", (data) => {
      const piece = data.toString();
      this.pieces.push(piece);
      if (this.fate.kind === "drop") return;
      const at = this.cutRequestAt === undefined ? -1 : piece.indexOf(this.cutRequestAt);
      if (at === -1) {
        store.write(data);
      } else {
        this.cutRequestAt = undefined;
        store.end(piece.slice(0, at));
      }
    });
    store.on("data", (data: Buffer) => this.#reply(client, data));
  }

  #reply(client: Socket, data: Buffer): void {
    const { fate } = this;
    if (fate.kind === "drop") return;
    if (fate.kind === "pass") client.write(data);
    else if (fate.kind === "delay") setTimeout(() => client.destroyed || client.write(data), fate.ms);
    else {
      this.fate = { kind: "pass" };
      client.write(data.subarray(0, fate.bytes), () => client.destroy());
    }
  }
}

/** Starts a proxy in front of the store on a port of this machine. */
export async function startStoreProxy(port: number): Promise<StoreProxy> {
  const proxy = new StoreProxy(port);
  await proxy.open();
  return proxy;
}
