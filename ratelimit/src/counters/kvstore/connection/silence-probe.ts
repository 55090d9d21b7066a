// Sends PING to a silent server until it answers, on a connection of its own: what is lost there
// mixes up no replies. Any reply is an answer, even that authentication is required.
import type { Socket } from "node:net";
import type { KvstoreAddress } from "../address.ts";
import type { KvstoreTlsOptions } from "../options.ts";
import { openSocket, socketOptions } from "./socket.ts";

/** Wait between two probes, in milliseconds. */
const INTERVAL_MS = 100;

const PING = "*1\r\n$4\r\nPING\r\n";

/** What a probe works with. */
export interface SilenceProbeDeps {
  /** The current address of the server, for each connection. */
  readonly target: () => KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  /** Called when the server has answered; the probe has stopped. */
  readonly answered: () => void;
}

/** The probe of one server, stopped at first. */
export class SilenceProbe {
  readonly #deps: SilenceProbeDeps;
  /** Probes on one connection before it is replaced by another. */
  readonly #probesMax: number;
  #timer: NodeJS.Timeout | undefined;
  #socket: Socket | undefined;
  #isConnected = false;
  #probes = 0;

  /** `timeoutMs` is how long a connection may be without any answer. */
  constructor(deps: SilenceProbeDeps, { timeoutMs }: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#probesMax = Math.max(1, Math.ceil(timeoutMs / INTERVAL_MS));
  }

  /** Probes until an answer comes or `stop` is called. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#probe(), INTERVAL_MS);
    this.#connect();
  }

  /** Probes no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #probe(): void {
    this.#probes += 1;
    if (this.#socket === undefined || this.#probes >= this.#probesMax) this.#connect();
    else if (this.#isConnected) this.#socket.write(PING);
  }

  #connect(): void {
    const { target, tls } = this.#deps;
    this.#socket?.destroy();
    this.#isConnected = false;
    this.#probes = 0;
    try {
      const options = socketOptions(target(), tls);
      this.#watch(openSocket(options), options.tls === undefined ? "connect" : "secureConnect");
    } catch {
      // Certificates that cannot be read: the connections of the pool report it.
      this.#socket = undefined;
    }
  }

  #watch(socket: Socket, connected: "connect" | "secureConnect"): void {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.once(connected, () => {
      this.#isConnected = true;
      socket.write(PING);
    });
    socket.once("data", () => {
      this.stop();
      this.#deps.answered();
    });
    socket.on("error", () => undefined); // It closes: the next probe connects again.
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
  }
}
