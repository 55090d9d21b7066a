// The commands of this backend: what they send, and what they do with each answer.
import type { CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import type { MemcachedStatistics } from "./memcached-statistics.ts";
import type { Call } from "./call.ts";
import type { Command } from "./connection.ts";
import { excerpt, ProtocolError, unaskedItem } from "./reply-parser.ts";
import { parseCount } from "./stored-value.ts";

/** The sum that `incr` answers, possibly followed by spaces. */
const SUM = /^\d{1,20} *$/;

/** The functions and statistics that the commands need from their node. */
export interface CommandContext {
  readonly statistics: MemcachedStatistics;
  /** The expiry to send with a new key, for a window of so many seconds. */
  readonly expiryNumber: (windowSeconds: number) => number;
  /** The error of a command that the server refused. */
  readonly replyError: (line: string) => StoreError;
  /** Reports a value that is not a number; `data` is undefined when it is too long to be one. */
  readonly notANumber: (key: string, data: string | undefined) => void;
  /** Sends an increment again: its next step. */
  readonly again: (command: IncrementCommand) => void;
  /** Reports the end of an increment; `error` says why it may be lost. */
  readonly finished: (error: StoreError | undefined) => void;
}

/** All checks that wait for the count of one key. */
export class KeyRead {
  readonly key: string;
  readonly #waiting: { readonly check: CountedCheck; readonly call: Call }[] = [];

  constructor(key: string) {
    this.key = key;
  }

  /** Adds a check of the key. The checks of a call are added one after the other. */
  add(check: CountedCheck, call: Call): void {
    this.#waiting.push({ check, call });
  }

  /** Gives the count to all checks; undefined = the key does not exist, and counts as 0. */
  settle(count: number | undefined): void {
    let last: Call | undefined;
    for (const { check, call } of this.#waiting) {
      if (count !== undefined && call !== last) call.found += 1; // A key that is twice in a call is counted once.
      last = call;
      call.read(check, count ?? 0);
    }
  }

  /** Reports to all calls that the count is unknown. */
  unread(error: StoreError): void {
    for (const { call } of this.#waiting) call.unread(error);
  }
}

/** `get <key>*`: reads each key once, for all calls of an event-loop turn. */
export class GetCommand implements Command {
  readonly text: string;
  readonly size: number;
  writtenMs = 0;
  readonly #context: Pick<CommandContext, "replyError" | "notANumber">;
  /** The keys that have no answer yet. */
  readonly #reads: Map<string, KeyRead>;

  constructor(context: Pick<CommandContext, "replyError" | "notANumber">, reads: readonly KeyRead[]) {
    this.#context = context;
    this.#reads = new Map(reads.map((read) => [read.key, read]));
    this.text = `get ${reads.map(({ key }) => key).join(" ")}\r\n`;
    this.size = reads.length;
  }

  value(key: string, data: string | undefined): void {
    const read = this.#reads.get(key);
    if (read === undefined) throw unaskedItem(key);
    this.#reads.delete(key);
    const count = data === undefined ? undefined : parseCount(data);
    if (count === undefined) this.#context.notANumber(key, data);
    read.settle(count ?? 0);
  }

  line(line: string): void {
    if (line === "END") for (const read of this.#reads.values()) read.settle(undefined);
    else if (isRefusal(line)) this.lost(this.#context.replyError(line));
    else throw wrongAnswer("get", line);
  }

  lost(error: StoreError): void {
    for (const read of this.#reads.values()) read.unread(error);
  }
}

/**
 * Adds to one key, in up to three steps: incr; if the key does not exist, add; if another client has
 * added it in the meantime, incr again. No call waits for it. A step whose answer is lost is not
 * sent again: it could count twice. A sum below 0 is a refund, of one step: decr stops at 0, and nothing
 * happens to a key that does not exist.
 */
export class IncrementCommand implements Command {
  readonly size = 1;
  writtenMs = 0;
  readonly #context: Omit<CommandContext, "notANumber">;
  readonly #key: string;
  readonly #windowSeconds: number;
  #sum: number;
  #step: "increment" | "add" | "increment again" = "increment";

  constructor(context: Omit<CommandContext, "notANumber">, key: string, windowSeconds: number, addend: number) {
    this.#context = context;
    this.#key = key;
    this.#windowSeconds = windowSeconds;
    this.#sum = addend;
  }

  /** Adds more, as long as the command was not written. */
  add(addend: number): void {
    this.#sum = Math.min(this.#sum + addend, Number.MAX_SAFE_INTEGER);
  }

  get text(): string {
    if (this.#sum < 0) return `decr ${this.#key} ${-this.#sum}\r\n`;
    if (this.#step !== "add") return `incr ${this.#key} ${this.#sum}\r\n`;
    const value = String(this.#sum);
    return `add ${this.#key} 0 ${this.#context.expiryNumber(this.#windowSeconds)} ${value.length}\r\n${value}\r\n`;
  }

  line(line: string): void {
    if (this.#step === "add") this.#added(line);
    else this.#incremented(line);
  }

  lost(error: StoreError): void {
    (this.#step === "add" ? this.#context.statistics.add : this.#outcomes).error.add(1);
    this.#context.finished(error);
  }

  /** The statistics of incr or decr. */
  get #outcomes(): MemcachedStatistics["increment"] {
    const { decrement, increment } = this.#context.statistics;
    return this.#sum < 0 ? decrement : increment;
  }

  #incremented(line: string): void {
    const { finished, replyError } = this.#context;
    if (SUM.test(line)) {
      this.#outcomes.success.add(1);
      finished(undefined);
    } else if (line === "NOT_FOUND") {
      this.#outcomes.miss.add(1);
      if (this.#sum < 0) finished(undefined);
      else if (this.#step === "increment") this.#continueWith("add");
      else finished(replyError(line));
    } else if (isRefusal(line)) {
      this.lost(replyError(line));
    } else {
      throw wrongAnswer(this.#sum < 0 ? "decr" : "incr", line);
    }
  }

  #added(line: string): void {
    const { statistics, finished, replyError } = this.#context;
    if (line === "STORED") {
      statistics.add.success.add(1);
      finished(undefined);
    } else if (line === "NOT_STORED") {
      statistics.add.notStored.add(1);
      this.#continueWith("increment again");
    } else if (line.startsWith("SERVER_ERROR")) {
      this.lost(replyError(line));
    } else {
      // After a CLIENT_ERROR the server may take the value for a command, and its answer for that
      // of the next.
      throw wrongAnswer("add", line);
    }
  }

  #continueWith(step: "add" | "increment again"): void {
    this.#step = step;
    this.#context.again(this);
  }
}

/** Returns true if the server refuses a command that it understood; the connection remains usable. */
function isRefusal(line: string): boolean {
  return line.startsWith("SERVER_ERROR") || line.startsWith("CLIENT_ERROR");
}

function wrongAnswer(command: string, line: string): ProtocolError {
  return new ProtocolError(`the answer to ${command} is ${excerpt(line)}`);
}
