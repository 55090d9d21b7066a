// Builds commands as they are sent, in RESP. They are gathered as one text and encoded together:
// encoding each key by itself costs twice as much.

/** Length of the gathered text from which it is encoded, in UTF-16 units. */
const TEXT_MAX_LENGTH = 32 * 1024;

/** Most bytes of a UTF-16 unit in UTF-8. */
const UNIT_MAX_BYTES = 3;

/** Size of the buffer; a larger one is made for more, and not kept. */
const BUFFER_BYTES = 128 * 1024;

/** Free bytes of a buffer that is used further while sockets still need its beginning. */
const FREE_MIN_BYTES = 32 * 1024;

const INCRBY = "*3\r\n$6\r\nincrby\r\n";
const EXPIRE = "*3\r\n$6\r\nexpire\r\n";
const GET = "*2\r\n$3\r\nget\r\n";
/**
 * Takes hits away from a count, not below 0, and none from a key that does not exist; the expiry stays.
 * Answers the count before. The number is written out: Lua would round one of 15 digits.
 */
const REFUND_SCRIPT =
  "local c=redis.call('GET',KEYS[1]) if c then local n=redis.call('DECRBY',KEYS[1],ARGV[1]) if n<0 then redis.call('INCRBY',KEYS[1],string.format('%.0f',-n)) end end return c";

/** The text goes with each refund: they are rare, and a script by its digest may be unknown to the server. */
const REFUND = `*5\r\n$4\r\neval\r\n$${REFUND_SCRIPT.length}\r\n${REFUND_SCRIPT}\r\n$1\r\n1\r\n`;

const ASKING = "*1\r\n$6\r\nasking\r\n";

/** Commands between two writes; shared by all connections of a deployment. */
export class CommandBuffer {
  #text = "";
  #bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  /** The offset at which the commands begin: before that is what a socket still needs. */
  #start = 0;
  #end = 0;

  /** True if there are no commands. */
  get isEmpty(): boolean {
    return this.#end === this.#start && this.#text === "";
  }

  /**
   * Adds a whole number to the number at the key, of `keyBytes` bytes in UTF-8; the reply is the
   * sum.
   */
  incrby(key: string, keyBytes: number, increment: number): void {
    this.#add(`${INCRBY}$${keyBytes}\r\n${key}\r\n${numberArgument(increment)}`);
  }

  /** Sets the expiry of the key, in whole seconds from now. */
  expire(key: string, keyBytes: number, seconds: number): void {
    this.#add(`${EXPIRE}$${keyBytes}\r\n${key}\r\n${numberArgument(seconds)}`);
  }

  /** Reads the value of the key; the reply is null when the key does not exist. */
  get(key: string, keyBytes: number): void {
    this.#add(`${GET}$${keyBytes}\r\n${key}\r\n`);
  }

  /** Subtracts a whole number from the number at the key; the reply is that of `get` before. */
  refund(key: string, keyBytes: number, hits: number): void {
    this.#add(`${REFUND}$${keyBytes}\r\n${key}\r\n${numberArgument(hits)}`);
  }

  /** Makes a cluster node that is importing the slot of the key accept the next command. */
  asking(): void {
    this.#add(ASKING);
  }

  /** A command that is in RESP already. */
  written(command: string): void {
    this.#add(command);
  }

  /** Any other command. */
  command(name: string, ...args: readonly string[]): void {
    this.#add(`*${args.length + 1}\r\n${textArgument(name)}`);
    for (const argument of args) this.#add(textArgument(argument));
  }

  /** All commands since the last `clear`; valid until then. */
  encoded(): Buffer {
    this.#encode();
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Removes the commands. `isInUse` says that a socket still needs them: they keep their memory. */
  clear(isInUse: boolean): void {
    if (isInUse) this.#start = this.#end;
    else this.#end = this.#start;
    const isLarge = this.#bytes.length > BUFFER_BYTES;
    if (!isLarge && this.#bytes.length - this.#start >= FREE_MIN_BYTES) return;
    this.#bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#start = 0;
    this.#end = 0;
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length >= TEXT_MAX_LENGTH) this.#encode();
  }

  #encode(): void {
    const text = this.#text;
    this.#text = "";
    const needed = text.length * UNIT_MAX_BYTES;
    if (this.#end + needed > this.#bytes.length) this.#enlarge(needed);
    this.#end += this.#bytes.write(text, this.#end);
  }

  #enlarge(needed: number): void {
    const used = this.#end - this.#start;
    const larger = Buffer.allocUnsafeSlow(Math.max(BUFFER_BYTES, 2 * (used + needed)));
    this.#bytes.copy(larger, 0, this.#start, this.#end);
    this.#bytes = larger;
    this.#start = 0;
    this.#end = used;
  }
}

/** A number as an argument in RESP. */
export function numberArgument(number: number): string {
  const text = String(number);
  return `$${text.length}\r\n${text}\r\n`;
}

/** A text as an argument in RESP. */
export function textArgument(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}
