// A TCP proxy in front of servers of this machine that cuts connections, refuses them, drops their bytes or delays
// them. Connections go to several servers in turn, running or not, as those of a Kubernetes Service do.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Starts a proxy in front of ports of this machine. */
export async function startCuttingProxy(...targetPorts: readonly number[]): Promise<CuttingProxy> {
  const proxy = new CuttingProxy(targetPorts);
  await proxy.listening;
  return proxy;
}

/** A proxy on a port of its own. */
export class CuttingProxy {
  /** Connections made so far. */
  connections = 0;
  /** Answers that {@link loseAnswers} lost. */
  lostAnswers = 0;
  /** The next piece with this text reaches the server only up to it; then the connection ends. */
  cutRequestAt: string | undefined;
  readonly listening: Promise<unknown>;
  readonly #targetPorts: readonly number[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isBlocked = false;
  #isSwallowing = false;
  #delayMs = 0;
  #answerBytes: number | undefined;
  #opened = 0;
  #onRequest = (_chunk: Buffer): void => undefined;
  #losing = { text: "", count: 0, onLost: (): void => undefined };
  /** Continues the held connections; undefined while none are held. */
  #held: (() => void)[] | undefined;
  #bytesOf = (): number => 0;

  constructor(targetPorts: readonly number[]) {
    this.#targetPorts = targetPorts;
    this.#server = createServer((client) => this.#accept(client)).listen(0, "127.0.0.1");
    this.listening = once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Such as 127.0.0.1:41234. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get openConnections(): number {
    return this.#sockets.size / 2;
  }

  /** Ends every connection immediately, both ways. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Refuses new connections, and ends the open ones, until `restore`. */
  block(): void {
    this.#isBlocked = true;
    this.cut();
  }

  /** Ends the open connections, and lets new ones wait, taken but not answered, until `restore`. */
  hold(): void {
    this.#held ??= [];
    this.cut();
  }

  /**
   * Swallows everything both ways without ending anything, as a network does that lost its way,
   * until `restore`; what was swallowed is lost.
   */
  swallow(): void {
    this.#isSwallowing = true;
  }

  /** Passes on what the server sends this many milliseconds later, until `restore`. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  restore(): void {
    this.#delayMs = 0;
    this.#isBlocked = false;
    this.#isSwallowing = false;
    for (const resume of this.#held ?? []) resume();
    this.#held = undefined;
  }

  /**
   * Passes on the next `count` requests that contain `text`, one per connection, and cuts the
   * connection in place of the answer; calls `onLost` then.
   */
  loseAnswers(text: string, count: number, onLost = (): void => undefined): void {
    this.#losing = { text, count, onLost };
  }

  /** Passes on so many bytes of the next answer, and ends its connection. */
  cutAnswer(bytes: number): void {
    this.#answerBytes = bytes;
  }

  /** Cuts each connection after this many bytes from the server; 0 for never. Called for every new connection. */
  cutAfter(bytes: () => number): void {
    this.#bytesOf = bytes;
  }

  /** Calls the listener with everything that clients send from now on. */
  onRequest(listener: (chunk: Buffer) => void): void {
    this.#onRequest = listener;
  }

  async close(): Promise<void> {
    this.cut();
    await once(this.#server.close(), "close");
  }

  #accept(client: Socket): void {
    this.connections += 1;
    if (this.#isBlocked) {
      client.resetAndDestroy();
    } else if (this.#held === undefined) {
      this.#open(client);
    } else {
      client.on("error", () => undefined); // It may not wait so long.
      client.on("close", () => this.#sockets.delete(client));
      this.#sockets.add(client);
      this.#held.push(() => this.#open(client));
    }
  }

  #open(client: Socket): void {
    if (client.destroyed) return;
    const target = connect(this.#targetPorts[this.#opened++ % this.#targetPorts.length]!, "127.0.0.1");
    let left = this.#bytesOf() || Infinity;
    let losesAnswer = false;
    this.#forward(client, target, (chunk) => {
      this.#onRequest(chunk);
      const end = this.cutRequestAt === undefined ? -1 : chunk.indexOf(this.cutRequestAt);
      if (this.#isSwallowing) return;
      if (end >= 0) {
        this.cutRequestAt = undefined;
        target.end(chunk.subarray(0, end));
        return;
      }
      if (this.#losing.count > 0 && chunk.includes(this.#losing.text)) {
        this.#losing.count -= 1;
        losesAnswer = true;
      }
      target.write(chunk);
    });
    this.#forward(target, client, (chunk) => {
      if (this.#isSwallowing) return;
      if (losesAnswer) {
        if (client.destroyed) return; // A further piece of the same answer.
        this.lostAnswers += 1;
        client.resetAndDestroy();
        this.#losing.onLost();
      } else if (this.#answerBytes !== undefined) {
        client.write(chunk.subarray(0, this.#answerBytes), () => client.destroy());
        this.#answerBytes = undefined;
      } else if (this.#delayMs > 0) {
        setTimeout(() => client.destroyed || client.write(chunk), this.#delayMs);
      } else {
        client.write(chunk);
        left -= chunk.length;
        if (left <= 0) client.resetAndDestroy();
      }
    });
  }

  #forward(from: Socket, to: Socket, pass: (chunk: Buffer) => void): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", pass);
    from.on("error", () => undefined); // Handled when it closes.
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
