// The commands that counting needs, and their replies.

/** Accepts commands in order; a pipeline of ioredis. */
export interface CommandSink {
  /** Adds to the number at the key; the reply is the sum. */
  incrby(key: string, increment: number): unknown;
  /** Sets the expiry of the key, in seconds from now. */
  expire(key: string, seconds: number): unknown;
  /** Reads the value of the key; the reply is null when the key does not exist. */
  get(key: string): unknown;
  /** Makes a node that is importing the slot of the key accept the next command. */
  asking(): unknown;
  /** Any other command. */
  call(command: string, ...args: string[]): unknown;
}

/** One reply: an error, or a value. */
export type Reply = readonly [error: Error | null, value: unknown];
