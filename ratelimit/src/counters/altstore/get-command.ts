// Reads keys for all calls of an event-loop turn: each key once, in one multi-get.
import type { CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import type { Call } from "./call.ts";
import { type Command, isRefusal } from "./command.ts";
import { excerpt } from "./reply-parser.ts";
import { parseCount } from "./stored-value.ts";

/** What the command needs of its node. */
export interface GetContext {
  /** The error of a refusal. */
  readonly replyError: (line: string) => StoreError;
  /** Hears of a value that is no number; `data` is undefined when it is far too long to be one. */
  readonly notANumber: (key: string, data: string | undefined) => void;
}

/** One check that wants to know its count. */
interface Waiter {
  readonly check: CountedCheck;
  readonly call: Call;
}

/** All checks of one key. */
export class KeyRead {
  readonly key: string;
  readonly #first: Waiter;
  /** Further ones in order of arrival; most keys have none. */
  #more: Waiter[] | undefined;

  constructor(check: CountedCheck, call: Call) {
    this.key = check.key;
    this.#first = { check, call };
  }

  /** Adds a check of the same key. */
  add(check: CountedCheck, call: Call): void {
    (this.#more ??= []).push({ check, call });
  }

  /** The key was there with this count. */
  found(count: number): void {
    this.#first.call.found += 1;
    let last = this.#first.call;
    for (const { call } of this.#more ?? []) {
      // The checks of a call come one after the other, so a key that stands twice in a call is
      // counted once.
      if (call !== last) call.found += 1;
      last = call;
    }
    this.#read(count);
  }

  /** The key was not there. */
  missing(): void {
    this.#read(0);
  }

  /** Nobody knows. */
  unread(error: StoreError): void {
    this.#first.call.unread(error);
    for (const { call } of this.#more ?? []) call.unread(error);
  }

  #read(count: number): void {
    this.#first.call.read(this.#first.check, count);
    for (const { check, call } of this.#more ?? []) call.read(check, count);
  }
}

/** `get <key>*`. */
export class GetCommand implements Command {
  readonly text: string;
  readonly size: number;
  writtenMs = 0;
  readonly #context: GetContext;
  /** The keys that have no answer yet. */
  readonly #reads = new Map<string, KeyRead>();

  constructor(context: GetContext, reads: readonly KeyRead[]) {
    this.#context = context;
    let text = "get";
    for (const read of reads) {
      text += ` ${read.key}`;
      this.#reads.set(read.key, read);
    }
    this.text = `${text}\r\n`;
    this.size = reads.length;
  }

  value(key: string, data: string | undefined): string | undefined {
    const read = this.#reads.get(key);
    if (read === undefined) return `the item ${excerpt(key)} was not asked for`;
    this.#reads.delete(key);
    const count = data === undefined ? undefined : parseCount(data);
    if (count === undefined) this.#context.notANumber(key, data);
    read.found(count ?? 0);
    return undefined;
  }

  line(line: string): string | undefined {
    if (line === "END") {
      for (const read of this.#reads.values()) read.missing();
    } else if (isRefusal(line)) {
      this.lost(this.#context.replyError(line));
    } else {
      return `the answer to get is ${excerpt(line)}`;
    }
    return undefined;
  }

  lost(error: StoreError): void {
    for (const read of this.#reads.values()) read.unread(error);
  }
}
