// Writes lines to standard output without `process.stdout`, which blocks the process while the
// reader is slow and ends it when the reader has gone.
import { write } from "node:fs";
import type { Log } from "@weir/common/log/log";
import { LineChannel } from "./line-channel.ts";

/** Bytes of one write. */
const PACKET_MAX_BYTES = 65_536;

/** The channel to a file descriptor; 1 is standard output. */
export class OutputChannel extends LineChannel {
  readonly #fileDescriptor: number;
  #isWriting = false;

  constructor(deps: { readonly log: Log }, options: { readonly fileDescriptor: number }) {
    super(deps.log, PACKET_MAX_BYTES);
    this.#fileDescriptor = options.fileDescriptor;
  }

  open(): void {
    // Standard output is open already.
  }

  isReady(): boolean {
    return true;
  }

  protected send(): void {
    if (this.#isWriting) return;
    const text = this.queue.take();
    if (text === undefined) {
      this.settle();
      return;
    }
    this.#isWriting = true;
    this.#writeAll(Buffer.from(text));
  }

  protected isIdle(): boolean {
    return !this.#isWriting;
  }

  protected end(): void {
    // Standard output stays open.
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
      if (error === null) this.reached();
      else this.lost(error);
      this.#isWriting = false;
      this.send();
    });
  }
}
