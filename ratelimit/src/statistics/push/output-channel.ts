// Writes lines to standard output without `process.stdout`, which blocks the process while the
// reader is slow and ends it when the reader has gone.
import { write } from "node:fs";
import type { Log } from "@weir/common/log/log";
import type { LineChannel } from "./line-channel.ts";
import { PacketQueue } from "./packet-queue.ts";
import { Reachability } from "./reachability.ts";

/** Bytes of one write. */
const PACKET_MAX_BYTES = 65_536;

/** Longest wait of `close` for the last lines, in milliseconds. */
const CLOSE_MAX_MS = 1000;

/** The channel to a file descriptor; 1 is standard output. */
export class OutputChannel implements LineChannel {
  readonly address = undefined;
  readonly #fileDescriptor: number;
  readonly #reachability: Reachability;
  readonly #queue = new PacketQueue(PACKET_MAX_BYTES);
  #isWriting = false;
  #onIdle: (() => void) | undefined;

  constructor(deps: { readonly log: Log }, options: { readonly fileDescriptor: number }) {
    this.#fileDescriptor = options.fileDescriptor;
    this.#reachability = new Reachability(deps.log, "standard output");
  }

  open(): void {
    // Standard output is open already.
  }

  isReady(): boolean {
    return true;
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
    if (!this.#isWriting) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MAX_MS);
    this.#onIdle = resolve;
    await promise;
    clearTimeout(timer);
  }

  #send(): void {
    if (this.#isWriting) return;
    const packet = this.#queue.take();
    if (packet === undefined) {
      this.#onIdle?.();
      return;
    }
    this.#isWriting = true;
    this.#writeAll(Buffer.from(packet.text));
  }

  /**
   * The system may take a part of the bytes. It drops them on an error: the reader may have gone
   * for good.
   */
  #writeAll(bytes: Buffer): void {
    write(this.#fileDescriptor, bytes, (error, written) => {
      if (error === null && written < bytes.length) {
        this.#writeAll(bytes.subarray(written));
        return;
      }
      if (error === null) this.#reachability.reached();
      else this.#reachability.lost(error);
      this.#isWriting = false;
      this.#send();
    });
  }
}
