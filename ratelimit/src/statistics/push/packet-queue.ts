// Packs whole lines into packets and queues them, up to a bound.

/** Most queued bytes, about as in envoyproxy/ratelimit; further lines are dropped. */
const QUEUE_MAX_BYTES = 4 * 1024 * 1024;

/** Packets in the order in which they were filled. */
export class PacketQueue {
  readonly #packetMaxBytes: number;
  readonly #packets: { readonly text: string; readonly bytes: number }[] = [];
  #text = "";
  #bytes = 0;
  #queuedBytes = 0;
  #hasDropped = false;

  /** A single line that is longer than `packetMaxBytes` becomes a packet of its own. */
  constructor(packetMaxBytes: number) {
    this.#packetMaxBytes = packetMaxBytes;
  }

  /** Returns true if lines were dropped since the last call. */
  hasDropped(): boolean {
    const hasDropped = this.#hasDropped;
    this.#hasDropped = false;
    return hasDropped;
  }

  /** True if no packet is queued. */
  get isEmpty(): boolean {
    return this.#packets.length === 0;
  }

  /** True if at least half of the queue is free. */
  get hasRoom(): boolean {
    return this.#queuedBytes + this.#bytes < QUEUE_MAX_BYTES / 2;
  }

  add(line: string, times: number): void {
    const bytes = Buffer.byteLength(line);
    let left = times;
    while (left > 0) {
      if (this.#queuedBytes + this.#bytes + bytes > QUEUE_MAX_BYTES) {
        this.#hasDropped = true;
        return;
      }
      const room = Math.floor((this.#packetMaxBytes - this.#bytes) / bytes);
      if (room < 1 && this.#bytes > 0) {
        this.endPacket();
        continue;
      }
      const count = Math.min(left, Math.max(1, room));
      this.#text += line.repeat(count);
      this.#bytes += count * bytes;
      left -= count;
    }
  }

  /** Ends the open packet. */
  endPacket(): void {
    if (this.#bytes === 0) return;
    this.#packets.push({ text: this.#text, bytes: this.#bytes });
    this.#queuedBytes += this.#bytes;
    this.#text = "";
    this.#bytes = 0;
  }

  /** Takes the first packet. */
  take(): string | undefined {
    const packet = this.#packets.shift();
    this.#queuedBytes -= packet?.bytes ?? 0;
    return packet?.text;
  }
}
