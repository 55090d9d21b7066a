// Sends lines to a server over UDP, in packets that fit into one Ethernet frame, without knowing
// whether they arrive.
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Log } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import { LineChannel } from "./line-channel.ts";

/** Bytes of a packet: an Ethernet frame less headers and tunnels, as in envoyproxy/ratelimit. */
const PACKET_MAX_BYTES = 1432;

/** Packets sent in one event-loop turn; more would also overrun the buffers of the receiver. */
const PACKETS_PER_TURN = 32;

/**
 * Time until a name is looked up again, in milliseconds: after a lookup, and after one that failed.
 */
const RESOLVED_FOR_MS = 30_000;
const RESOLVE_RETRY_MS = 3000;

/** The server. */
export interface UdpChannelOptions {
  readonly host: string;
  readonly port: number;
}

/** A socket for the family of an address. */
interface Target {
  readonly ip: string;
  readonly family: number;
  readonly socket: Socket;
}

/** The channel. */
export class UdpChannel extends LineChannel {
  readonly #options: UdpChannelOptions;
  #target: Target | undefined;
  #resolveTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Packets that the system has not taken yet. */
  #pending = 0;
  #isSending = false;

  constructor(deps: { readonly log: Log }, options: UdpChannelOptions) {
    super(deps.log, PACKET_MAX_BYTES, formatAddress(options));
    this.#options = options;
  }

  open(): void {
    const family = isIP(this.#options.host);
    if (family !== 0) this.#aim(this.#options.host, family);
    else void this.#resolve();
  }

  isReady(): boolean {
    return this.#target !== undefined;
  }

  protected isIdle(): boolean {
    return this.#target === undefined || (this.#pending === 0 && this.queue.isEmpty);
  }

  protected end(): void {
    this.#isClosed = true;
    clearTimeout(this.#resolveTimer);
    this.#target?.socket.close();
    this.#target = undefined;
  }

  /**
   * Looks the name up now and at intervals; while that fails, the last known address is used. Never
   * rejects.
   */
  async #resolve(): Promise<void> {
    let waitMs = RESOLVED_FOR_MS;
    try {
      // IPv4 first, as Go does for UDP: most receivers on "localhost" listen on 127.0.0.1 only.
      const { address, family } = await lookup(this.#options.host, { order: "ipv4first" });
      if (!this.#isClosed) this.#aim(address, family);
    } catch (error) {
      waitMs = RESOLVE_RETRY_MS;
      if (!this.#isClosed && this.#target === undefined) this.lost(error);
    }
    if (!this.#isClosed) this.#resolveTimer = setTimeout(() => void this.#resolve(), waitMs);
  }

  #aim(ip: string, family: number): void {
    const old = this.#target;
    if (old?.family === family) {
      this.#target = { ip, family, socket: old.socket };
      return;
    }
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    socket.on("error", (error) => this.lost(error));
    this.#target = { ip, family, socket };
    old?.socket.close();
    this.reached();
  }

  protected send(): void {
    if (this.#isSending) return;
    for (let sent = 0; sent < PACKETS_PER_TURN; sent++) {
      const text = this.#target === undefined ? undefined : this.queue.take();
      if (text === undefined) {
        this.settle();
        return;
      }
      this.#pending += 1;
      this.#target?.socket.send(text, this.#options.port, this.#target.ip, (error) => {
        this.#pending -= 1;
        if (error === null) this.reached();
        else this.lost(error);
        this.settle();
      });
    }
    this.#isSending = true;
    setImmediate(() => {
      this.#isSending = false;
      this.send();
    });
  }
}
