// One place in the pool of a server: always on its way to a connection that works, with a back-off
// between attempts, until it is closed.
import type { Backoff } from "@weir/common/backoff/backoff";
import { type Connection, type ConnectionListener, dial } from "./connection.ts";
import { silenceError } from "../connection-errors.ts";
import { isUselessConnection, replyError } from "./store-errors.ts";
import type { CommandSink, Reply } from "./command-sink.ts";
import type { KvstoreAddress } from "./address.ts";
import type { KvstoreTlsOptions } from "./options.ts";

/** What a link works with. */
export interface LinkDeps {
  /** Where the server is now: asked at each dial. */
  readonly target: () => KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  readonly listener: LinkListener;
  /** Waits between attempts until a connection worked for the first time. */
  readonly startBackoff: Backoff;
  /** Waits between attempts afterwards; it starts over with each connection that proves useful. */
  readonly redialBackoff: Backoff;
}

/** What each connection of a link is made with. */
export interface LinkOptions {
  readonly connectTimeoutMs: number;
  /** Whether a server that says it is a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** What a link tells its server. */
export interface LinkListener {
  /** Commands can be written now. */
  linkReady(link: Link): void;
  /**
   * A connection that worked is gone. What was written and not answered fails by itself; a new
   * attempt is under way.
   */
  linkLost(link: Link, cause: unknown): void;
  /** An attempt failed; the next one comes by itself. */
  linkFailed(link: Link, cause: unknown): void;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "waiting"; readonly timer: NodeJS.Timeout }
  | { readonly kind: "dialling" | "ready"; readonly connection: Connection };

/** A place in the pool. */
export class Link {
  readonly #deps: LinkDeps;
  readonly #options: LinkOptions;
  #state: State = { kind: "closed" };
  #wasReady = false;

  constructor(deps: LinkDeps, options: LinkOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Whether commands can be written. */
  get isReady(): boolean {
    return this.#state.kind === "ready";
  }

  /** Begins to dial. */
  open(): void {
    if (this.#state.kind === "closed") this.#dial();
  }

  /**
   * Writes commands in one piece; only when ready. A reply that says the connection is of no use
   * ends it.
   */
  write(fill: (sink: CommandSink) => void, settle: (replies: readonly Reply[]) => void): void {
    const state = this.#state;
    if (state.kind !== "ready") throw new Error(`A link was written to while it was ${state.kind}`);
    state.connection.write(fill, (replies) => {
      settle(replies);
      const useless = replies.find(([error]) => isUselessConnection(error));
      if (useless !== undefined) state.connection.close(useless[0]);
      // Not before: a demoted primary takes every connection, only to refuse what comes over it.
      else if (replies.some(([error]) => error === null)) this.#deps.redialBackoff.reset();
    });
  }

  /**
   * Sends one command, only when ready; fails with STORE_UNAVAILABLE, or STORE_TIMEOUT. `text` is
   * the server for messages.
   */
  query(
    { command, args }: { readonly command: string; readonly args: string[] },
    { timeoutMs, text }: { readonly timeoutMs: number; readonly text: string },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(silenceError(text, timeoutMs)), timeoutMs);
      this.write(
        (sink) => sink.call(command, ...args),
        ([reply]) => {
          clearTimeout(timer);
          const [error, value] = reply ?? [new Error("the reply is missing"), undefined];
          if (error === null) resolve(value);
          else reject(replyError(text, error));
        },
      );
    });
  }

  /** Ends the connection in use, if any, and dials again. */
  reset(cause: unknown): void {
    if (this.#state.kind === "ready") this.#state.connection.close(cause);
  }

  /** Ends the connection in use, if any, and dials no more until it is opened again. */
  hangUp(cause: unknown): void {
    const state = this.#state;
    this.#deps.redialBackoff.reset();
    this.close();
    if (state.kind === "ready") this.#deps.listener.linkLost(this, cause);
  }

  /** Ends everything; nothing is told to the listener any more. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: "closed" };
    if (state.kind === "waiting") clearTimeout(state.timer);
    else if (state.kind !== "closed") state.connection.close(new Error("closed"));
  }

  #dial(): void {
    const { target, tls } = this.#deps;
    const listener: ConnectionListener = { ready: () => this.#ready(), closed: (cause) => this.#closed(cause) };
    this.#state = { kind: "dialling", connection: dial({ address: target(), tls, listener }, this.#options) };
  }

  #ready(): void {
    if (this.#state.kind !== "dialling") return;
    this.#state = { kind: "ready", connection: this.#state.connection };
    this.#wasReady = true;
    this.#deps.listener.linkReady(this);
  }

  #closed(cause: unknown): void {
    const { kind } = this.#state;
    if (kind !== "dialling" && kind !== "ready") return;
    const waitMs = (this.#wasReady ? this.#deps.redialBackoff : this.#deps.startBackoff).nextMs();
    this.#state = { kind: "waiting", timer: setTimeout(() => this.#dial(), waitMs) };
    if (kind === "ready") this.#deps.listener.linkLost(this, cause);
    else this.#deps.listener.linkFailed(this, cause);
  }
}
