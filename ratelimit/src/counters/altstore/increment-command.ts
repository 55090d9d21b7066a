// Adds to one key, in up to three steps: incr; when there is no such key, add; when somebody else
// has added it meanwhile, incr once more. Nobody waits for it, and a step whose answer is lost is
// not sent again: it would count twice.
import type { StoreError } from "../store-error.ts";
import type { AltstoreStatistics } from "./altstore-statistics.ts";
import { type Command, isRefusal } from "./command.ts";
import { excerpt } from "./reply-parser.ts";

/** The sum, possibly with spaces behind it. */
const SUM = /^\d{1,20} *$/;

/** What the command needs of its node. */
export interface IncrementContext {
  readonly statistics: AltstoreStatistics;
  /** The expiry to send with a new key, for a window of so many seconds. */
  readonly expiryNumber: (windowSeconds: number) => number;
  /** The error of a refusal. */
  readonly replyError: (line: string) => StoreError;
  /** Sends the command once more: its next step. */
  readonly again: (command: IncrementCommand) => void;
  /** It is over; `error` says why the increment may be lost. */
  readonly finished: (error: StoreError | undefined) => void;
}

/** An increment. */
export class IncrementCommand implements Command {
  readonly size = 1;
  writtenMs = 0;
  readonly #context: IncrementContext;
  readonly #key: string;
  readonly #windowSeconds: number;
  #sum: number;
  #step: "increment" | "add" | "increment again" = "increment";

  constructor(context: IncrementContext, key: string, windowSeconds: number, addend: number) {
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
    if (this.#step !== "add") return `incr ${this.#key} ${this.#sum}\r\n`;
    const value = String(this.#sum);
    return `add ${this.#key} 0 ${this.#context.expiryNumber(this.#windowSeconds)} ${value.length}\r\n${value}\r\n`;
  }

  value(key: string): string {
    return `the item ${excerpt(key)} was not asked for`;
  }

  line(line: string): string | undefined {
    return this.#step === "add" ? this.#added(line) : this.#incremented(line);
  }

  lost(error: StoreError): void {
    const { add, increment } = this.#context.statistics;
    (this.#step === "add" ? add : increment).error.add(1);
    this.#context.finished(error);
  }

  #incremented(line: string): string | undefined {
    const { statistics, again, finished, replyError } = this.#context;
    if (SUM.test(line)) {
      statistics.increment.success.add(1);
      finished(undefined);
    } else if (line === "NOT_FOUND") {
      statistics.increment.miss.add(1);
      if (this.#step === "increment") {
        this.#step = "add";
        again(this);
      } else {
        finished(replyError(line));
      }
    } else if (isRefusal(line)) {
      this.lost(replyError(line));
    } else {
      return `the answer to incr is ${excerpt(line)}`;
    }
    return undefined;
  }

  #added(line: string): string | undefined {
    const { statistics, again, finished, replyError } = this.#context;
    if (line === "STORED") {
      statistics.add.success.add(1);
      finished(undefined);
    } else if (line === "NOT_STORED") {
      statistics.add.notStored.add(1);
      this.#step = "increment again";
      again(this);
    } else if (line.startsWith("SERVER_ERROR")) {
      this.lost(replyError(line));
    } else {
      // After a CLIENT_ERROR the server may take the value for a command, and its answer for that
      // of the next.
      return `the answer to add is ${excerpt(line)}`;
    }
    return undefined;
  }
}
