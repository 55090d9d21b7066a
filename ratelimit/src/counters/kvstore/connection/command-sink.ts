// The commands that counting needs, and their replies, as the parts of this backend hand them to
// each other. What sends them is connection.ts.

/** Takes commands in order; a pipeline of the client library. */
export interface CommandSink {
  /** Adds to the number at the key; the reply is the sum. */
  incrby(key: string, increment: number): unknown;
  /** Lets the key live for so many seconds from now. */
  expire(key: string, seconds: number): unknown;
  /** Reads the text at the key; the reply is null when there is none. */
  get(key: string): unknown;
  /** Lets the next command pass at a node that is taking over the slot of its key. */
  asking(): unknown;
  /** Any other command. */
  call(command: string, ...args: string[]): unknown;
}

/** One reply: an error, or a value. */
export type Reply = readonly [error: Error | null, value: unknown];
