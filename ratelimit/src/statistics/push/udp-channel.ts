// Sends lines to a server over UDP, in packets that fit into one Ethernet frame, without knowing
// whether they arrive.
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Log } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import type { LineChannel } from "./line-channel.ts";
import { PacketQueue } from "./packet-queue.ts";
import { Reachability } from "./reachability.ts";

/** Bytes of a packet: an Ethernet frame less headers and tunnels, as in envoyproxy/ratelimit. */
const PACKET_MAX_BYTES = 1432;

/** Packets sent in one event-loop turn; more would also overrun the buffers of the receiver. */
const PACKETS_PER_TURN = 32;

/**
 * Time until a name is looked up again, in milliseconds: after a lookup, and after one that failed.
 */
const RESOLVED_FOR_MS = 30_000;
const RESOLVE_RETRY_MS = 3000;

/** Longest wait of `close` for the last packets, in milliseconds. */
const CLOSE_MAX_MS = 1000;

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
export class UdpChannel implements LineChannel {
  readonly address: string;
  readonly #options: UdpChannelOptions;
  readonly #reachability: Reachability;
  readonly #queue = new PacketQueue(PACKET_MAX_BYTES);
  #target: Target | undefined;
  #resolveTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Packets that the system has not taken yet. */
  #pending = 0;
  #isSending = false;
  #onIdle: (() => void) | undefined;

  constructor(deps: { readonly log: Log }, options: UdpChannelOptions) {
    this.#options = options;
    this.address = formatAddress(options);
    this.#reachability = new Reachability(deps.log, this.address);
  }

  open(): void {
    const family = isIP(this.#options.host);
    if (family !== 0) this.#aim(this.#options.host, family);
    else void this.#resolve();
  }

  isReady(): boolean {
    return this.#target !== undefined;
  }

  hasRoom(): boolean {
    return this.#queue.hasRoom;
  }

  write(line: string, times: number): void {
    this.#queue.add(line, times);
    if (!this.#queue.isEmpty) this.#send();
  }

  flush(): void {
    this.#queue.endPacket();
    this.#send();
    if (this.#queue.hasDropped()) this.#reachability.full();
  }

  async close(): Promise<void> {
    this.flush();
    if (this.#target !== undefined && (this.#pending > 0 || !this.#queue.isEmpty)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MAX_MS);
      this.#onIdle = resolve;
      await promise;
      clearTimeout(timer);
    }
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
      if (!this.#isClosed && this.#target === undefined) this.#reachability.lost(error);
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
    socket.on("error", (error) => this.#reachability.lost(error));
    this.#target = { ip, family, socket };
    old?.socket.close();
    this.#reachability.reached();
  }

  #send(): void {
    if (this.#isSending) return;
    for (let sent = 0; sent < PACKETS_PER_TURN; sent++) {
      const packet = this.#target === undefined ? undefined : this.#queue.take();
      if (packet === undefined) {
        this.#settle();
        return;
      }
      this.#pending += 1;
      this.#target?.socket.send(packet.text, this.#options.port, this.#target.ip, (error) => {
        this.#pending -= 1;
        if (error === null) this.#reachability.reached();
        else this.#reachability.lost(error);
        this.#settle();
      });
    }
    this.#isSending = true;
    setImmediate(() => {
      this.#isSending = false;
      this.#send();
    });
  }

  #settle(): void {
    if (this.#pending === 0 && (this.#queue.isEmpty || this.#target === undefined)) this.#onIdle?.();
  }
}
