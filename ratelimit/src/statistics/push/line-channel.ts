// The interface of the channels to a TCP server, to a UDP server and to standard output.

/**
 * Sends lines without blocking its caller. Lines that it cannot send it queues up to a bound, then
 * drops.
 */
export interface LineChannel {
  /** The address of the server; undefined for standard output. */
  readonly address: string | undefined;
  /** Starts to connect. */
  open(): void;
  /** Whether lines can be sent now; otherwise counters keep their growth for later. */
  isReady(): boolean;
  /** Whether at least half of the queue is free; a full queue drops lines. */
  hasRoom(): boolean;
  /** Queues a line with its line end, `times` times. It is sent in a full packet or at `flush`. */
  write(line: string, times: number): void;
  /** Sends what is queued. */
  flush(): void;
  /** Sends what is queued, waits for that a short while, and closes. */
  close(): Promise<void>;
}
