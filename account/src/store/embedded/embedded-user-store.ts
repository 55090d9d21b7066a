// Keeps user records in one SQLite file of this machine, for one process: WAL, and a sync to disk
// before a write is done. A thread does the work; one that dies is replaced.
import type { Worker } from "node:worker_threads";
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Log } from "@weir/common/log/log";
import { StoreError } from "../store-error.ts";
import type { MediaIntent, UpdateResult, UserChange, UserRecord, UserStore } from "../user-store.ts";
import type { StoreAccess, StoreRequest, StoreValues, ThreadData } from "./messages.ts";
import { startWorker, StoreThread } from "./store-thread.ts";

/** How often what was written is moved into the file, in milliseconds. */
const CHECKPOINT_INTERVAL_MS = 60_000;

/** Waits before a thread that died is replaced, in milliseconds. */
const REPLACE_INITIAL_MS = 100;
const REPLACE_MAX_MS = 5000;

export interface EmbeddedStoreDeps {
  readonly log: Log;
  /** Starts the thread; tests keep hold of it. */
  readonly startThread?: (data: ThreadData) => Worker;
}

/** How the store works. */
export interface EmbeddedStoreOptions {
  /** Folder of the database, which exists. */
  readonly directory: string;
  /** Default: `own`. */
  readonly access?: StoreAccess;
  readonly checkpointIntervalMs?: number;
}

/** A user store on one SQLite file. */
export class EmbeddedUserStore implements UserStore {
  readonly #log: Log;
  readonly #startThread: (data: ThreadData) => Worker;
  readonly #data: ThreadData;
  readonly #replacing: RetryLoop;
  #thread: StoreThread | undefined;
  #isStopped = false;

  constructor({ log, startThread = startWorker }: EmbeddedStoreDeps, options: EmbeddedStoreOptions) {
    this.#log = log;
    this.#startThread = startThread;
    this.#data = {
      directory: options.directory,
      access: options.access ?? "own",
      checkpointIntervalMs: options.checkpointIntervalMs ?? CHECKPOINT_INTERVAL_MS,
    };
    const backoff = { initialMs: REPLACE_INITIAL_MS, maxMs: REPLACE_MAX_MS, factor: 1, jitter: false };
    this.#replacing = new RetryLoop(() => void this.#replace(), { ...backoff, random: Math.random });
  }

  /** Rejects with DATA_DIRECTORY_IN_USE or STORE_UNUSABLE. */
  async start(): Promise<void> {
    await this.#open();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#replacing.stop();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  insert(user: UserRecord): Promise<"inserted" | "email_taken"> {
    return this.#call<"insert">({ kind: "insert", user });
  }

  findById(id: string): Promise<UserRecord | undefined> {
    return this.#call<"findById">({ kind: "findById", id });
  }

  findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    return this.#call<"findByEmailKey">({ kind: "findByEmailKey", emailKey });
  }

  update(id: string, revision: number, change: UserChange): Promise<UpdateResult> {
    return this.#call<"update">({ kind: "update", id, revision, change });
  }

  remove(id: string): Promise<boolean> {
    return this.#call<"remove">({ kind: "remove", id });
  }

  findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#call<"findAvatarKeys">({ kind: "findAvatarKeys", userIds });
  }

  async addMediaIntent(intent: MediaIntent): Promise<void> {
    await this.#call<"addMediaIntent">({ kind: "addMediaIntent", intent });
  }

  takeMediaIntents(createdMaxMs: number): Promise<readonly string[]> {
    return this.#call<"takeMediaIntents">({ kind: "takeMediaIntents", createdMaxMs });
  }

  async removeMediaIntent(key: string): Promise<void> {
    await this.#call<"removeMediaIntent">({ kind: "removeMediaIntent", key });
  }

  async ping(): Promise<void> {
    await this.#call<"ping">({ kind: "ping" });
  }

  #call<Kind extends StoreRequest["kind"]>(
    request: Extract<StoreRequest, { readonly kind: Kind }>,
  ): Promise<StoreValues[Kind]> {
    if (this.#thread === undefined)
      return Promise.reject(new StoreError("not_applied", new Error("it is not open"), "not_connected"));
    return this.#thread.call<Kind>(request);
  }

  async #open(): Promise<void> {
    const thread = await StoreThread.open(this.#startThread(this.#data), {
      checkpointFailed: (reason) => this.#log.warn("Cannot empty the log of the user store", { reason }),
      ended: (reason) => {
        if (this.#thread === undefined) return; // It never opened: the start reports that.
        this.#thread = undefined;
        this.#log.error("The thread of the user store ended, another one starts", { reason });
        this.#replacing.retry();
      },
    });
    if (this.#isStopped) await thread.close();
    else this.#thread = thread;
  }

  async #replace(): Promise<void> {
    try {
      await this.#open();
      this.#replacing.succeeded();
    } catch (error) {
      this.#log.error("Cannot start the thread of the user store", { error });
      this.#replacing.retry();
    }
  }
}
