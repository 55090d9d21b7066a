// Keeps the unique index of addresses: makes it, makes it again when it is gone, and lets nothing be
// inserted meanwhile.
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { MongoFailure } from "./mongo-failure.ts";
import type { UserCollection } from "./user-collection.ts";

/** How often it is looked after, in milliseconds. */
const CHECK_INTERVAL_MS = 5000;

/** Waits after an attempt that the server refused, in milliseconds: each may read all users. */
const BACKOFF = { initialMs: 500, maxMs: 30_000, factor: 1, jitter: true };

/** Wait after an attempt without an answer, in milliseconds. */
const NO_ANSWER_WAIT_MS = 1000;

/** Longest time to make it when that takes longer than other calls, in milliseconds: a collection may be large. */
const MAKE_TIMEOUT_MS = 600_000;

/** Most addresses with several users that a log line names. */
const DUPLICATES_MAX = 10;

/** The unique index of the addresses of one collection. */
export class UniqueEmails {
  readonly #users: UserCollection;
  readonly #log: RateLimitedLog;
  readonly #loop: RetryLoop;
  /** Why nothing may be inserted; undefined while the index exists, as far as is known. */
  #fault: MongoFailure | undefined;
  /** The question that the server has not answered yet, and the one that follows it. */
  #asking: Promise<MongoFailure | undefined> | undefined;
  #next: Promise<MongoFailure | undefined> | undefined;
  #isLate = false;

  constructor({ log, users }: { readonly log: Log; readonly users: UserCollection }) {
    this.#users = users;
    this.#log = new RateLimitedLog(log, { intervalMs: Infinity });
    this.#loop = new RetryLoop(() => void this.#keep(), { ...BACKOFF, random: Math.random });
  }

  /** Makes the index, and again whenever it is gone, until `stop`. */
  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  /**
   * Resolves to undefined when the index exists at some time after the call; otherwise to the reason why
   * nothing may be inserted.
   */
  ensure(): Promise<MongoFailure | undefined> {
    return this.#fault === undefined ? this.#ask() : Promise.resolve(this.#fault);
  }

  async #keep(): Promise<void> {
    const failure = await this.#ask();
    if (failure?.reason === "index_missing") {
      this.#loop.retry();
      return;
    }
    this.#loop.succeeded();
    this.#loop.retry(failure === undefined ? CHECK_INTERVAL_MS : NO_ANSWER_WAIT_MS);
  }

  /** Asks once for all calls that wait, over one connection; an answer counts for those before the question. */
  #ask(): Promise<MongoFailure | undefined> {
    if (this.#asking === undefined) {
      this.#asking = this.#make().finally(() => (this.#asking = undefined));
      return this.#asking;
    }
    this.#next ??= this.#asking.then(() => {
      this.#next = undefined;
      return this.#ask();
    });
    return this.#next;
  }

  /**
   * The server makes a missing index, waits for one that is being made, and answers only when no two users
   * share an address. Its list of indexes would also have unfinished ones.
   */
  async #make(): Promise<MongoFailure | undefined> {
    try {
      await this.#users.makeIndex(this.#isLate ? MAKE_TIMEOUT_MS : undefined);
      this.#isLate = false;
      this.#fault = undefined;
      this.#log.recovered("Registrations are accepted again", {});
      return undefined;
    } catch (error) {
      const failure = this.#users.classify(error);
      this.#isLate = failure.reason === "no_answer";
      return this.#isLate ? { ...failure, kind: "not_sent" } : this.#refuse(failure);
    }
  }

  async #refuse({ text }: MongoFailure): Promise<MongoFailure> {
    this.#fault = missing(text);
    const duplicates = await this.#users.findDuplicates(DUPLICATES_MAX).catch(() => []); // The next attempt looks again.
    const users = duplicates.map((group) => group.map(({ id }) => id).join(" ")).join(", ");
    if (users !== "") this.#fault = missing("users share an address; see weir-account duplicates");
    const fields = { reason: this.#fault.text, ...(users !== "" && { users }) };
    this.#log.error("Registrations are refused", fields, users + text);
    return this.#fault;
  }
}

function missing(text: string): MongoFailure {
  return { kind: "not_sent", reason: "index_missing", text: `the unique index of addresses is missing: ${text}` };
}
