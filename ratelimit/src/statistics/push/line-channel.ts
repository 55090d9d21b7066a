// Where lines go: the interface of the channels to a TCP server, to a UDP server and to standard
// output. No channel ever makes its user wait.

/**
 * Takes lines and delivers them as well as it can. What it cannot deliver it drops, beyond a bound
 * that each channel states.
 */
export interface LineChannel {
  /** Where it sends to; undefined when that is no address. */
  readonly address: string | undefined;
  /** Begins to connect. */
  open(): void;
  /**
   * Whether what is written now has a way to go; otherwise counters had better keep what they have.
   */
  isReady(): boolean;
  /** Whether there is room for a good deal more; what is written when there is none is dropped. */
  hasRoom(): boolean;
  /**
   * Writes a line, which ends in a line end, a number of times. It goes out when enough has come
   * together, or at `flush`.
   */
  write(line: string, times: number): void;
  /** Sends what has been written. */
  flush(): void;
  /** Sends what has been written, waits for that a short while, and closes. */
  close(): Promise<void>;
}
