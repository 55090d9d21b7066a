// The links to one server: opens them, and picks one for each turn.
import { createBackoff } from "@weir/common/backoff/backoff";
import type { KvstoreAddress } from "./address.ts";
import { Link, type LinkListener } from "./link.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "./options.ts";
import type { PoolStatistics } from "./pool-statistics.ts";

/** Waits between attempts to reach a server that was lost, in milliseconds: the field's. */
const REDIAL_INITIAL_MS = 125;
const REDIAL_MAX_MS = 4_000;

/**
 * The longest such wait where a primary is wanted: the server, a replica now, may be made the
 * primary at any moment.
 */
const REDIAL_PRIMARY_MAX_MS = 1_000;

/** What a pool works with. */
export interface LinkPoolDeps {
  /** Where the server is now: asked at each dial. */
  readonly target: () => KvstoreAddress;
  readonly listener: LinkListener;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
}

/** What is particular to this pool. */
export interface LinkPoolOptions {
  readonly server: KvstoreServerOptions;
  readonly startup: KvstoreCounterOptions["startup"];
  /** Whether a server that says it is a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** A pool of links, all closed at first. */
export class LinkPool {
  readonly #links: readonly Link[];
  readonly #statistics: PoolStatistics;
  #next = 0;

  constructor(deps: LinkPoolDeps, { server, startup, wantsPrimary }: LinkPoolOptions) {
    const { target, listener, random, statistics } = deps;
    const backoff = (initialMs: number, maxMs: number) =>
      createBackoff({ initialMs, maxMs, factor: 1, jitter: true, random });
    this.#links = Array.from({ length: server.poolSize }, () => {
      const startBackoff = backoff(startup.initialMs, startup.maxMs);
      const redialBackoff = backoff(REDIAL_INITIAL_MS, wantsPrimary ? REDIAL_PRIMARY_MAX_MS : REDIAL_MAX_MS);
      return new Link(
        { target, tls: server.tls, listener, startBackoff, redialBackoff },
        { connectTimeoutMs: server.connectTimeoutMs, wantsPrimary },
      );
    });
    this.#statistics = statistics;
  }

  /** Whether any link works. */
  get isReady(): boolean {
    return this.#links.some((link) => link.isReady);
  }

  /** Opens the first link, whose success the start waits for. */
  openFirst(): void {
    this.#links[0]?.open();
  }

  /** Opens the links that are still closed. */
  openAll(): void {
    for (const link of this.#links) link.open();
  }

  /** Ends the connections of all links, which dial no more until they are opened again. */
  hangUp(cause: unknown): void {
    for (const link of this.#links) {
      if (link.isReady) this.#statistics.closing();
      link.hangUp(cause);
    }
  }

  /** Closes all links for good. */
  close(): void {
    for (const link of this.#links) {
      const wasReady = link.isReady;
      link.close();
      if (!wasReady) continue;
      this.#statistics.closing();
      this.#statistics.lost();
    }
  }

  /** The next link that works, in turn. */
  pick(): Link | undefined {
    const { length } = this.#links;
    for (let tries = 0; tries < length; tries++) {
      this.#next = (this.#next + 1) % length;
      const link = this.#links[this.#next];
      if (link?.isReady === true) return link;
    }
    return undefined;
  }

  /** Gives the connection of a link up; it dials anew. */
  reset(link: Link, cause: unknown): void {
    if (link.isReady) this.#statistics.closing();
    link.reset(cause);
  }

  /** To be called when a link became ready. */
  noteReady(): void {
    this.#statistics.opened();
  }

  /** To be called when a link was lost. */
  noteLost(): void {
    this.#statistics.lost();
  }
}
