// The links to one server: opens them, picks one for each turn, and counts how many work.
import { createBackoff } from "@weir/common/backoff/backoff";
import type { StatisticsCounter, StatisticsGauge, StatisticsStore } from "../../../statistics/statistics-store.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "../options.ts";
import type { KvstoreAddress } from "./address.ts";
import { Link, type LinkListener } from "./link.ts";

/** Waits between attempts to reach a server that was lost, in milliseconds: the field's. */
const REDIAL_INITIAL_MS = 125;
const REDIAL_MAX_MS = 4_000;

/** What a pool works with. */
export interface LinkPoolDeps {
  readonly listener: LinkListener;
  readonly statistics: StatisticsStore;
  readonly random: () => number;
  /** Hears the number of links that work, at each change. */
  readonly connections: (active: number) => void;
}

/** What is particular to this pool. */
export interface LinkPoolOptions {
  readonly address: KvstoreAddress;
  readonly server: KvstoreServerOptions;
  readonly startup: KvstoreCounterOptions["startup"];
  /** Scope of its statistics: ratelimit.<scope>.cx_active and so on. */
  readonly scope: string;
}

/** A pool of links, all closed at first. */
export class LinkPool {
  readonly #links: readonly Link[];
  readonly #connections: (active: number) => void;
  readonly #active: StatisticsGauge;
  readonly #total: StatisticsCounter;
  readonly #localClose: StatisticsCounter;
  #next = 0;

  constructor(deps: LinkPoolDeps, options: LinkPoolOptions) {
    const { listener, statistics, random, connections } = deps;
    const { address, server, startup, scope } = options;
    const backoff = (initialMs: number, maxMs: number) => createBackoff({ initialMs, maxMs, factor: 1, jitter: true, random });
    this.#links = Array.from({ length: server.poolSize }, () => {
      const startBackoff = backoff(startup.initialMs, startup.maxMs);
      const redialBackoff = backoff(REDIAL_INITIAL_MS, REDIAL_MAX_MS);
      return new Link({ address, tls: server.tls, listener, startBackoff, redialBackoff }, { connectTimeoutMs: server.connectTimeoutMs });
    });
    this.#connections = connections;
    this.#active = statistics.gauge(`ratelimit.${scope}.cx_active`);
    this.#total = statistics.counter(`ratelimit.${scope}.cx_total`);
    this.#localClose = statistics.counter(`ratelimit.${scope}.cx_local_close`);
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

  /** Closes all links for good. */
  close(): void {
    for (const link of this.#links) {
      if (link.isReady) this.#localClose.add(1);
      link.close();
    }
    this.#note();
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
    if (link.isReady) this.#localClose.add(1);
    link.reset(cause);
  }

  /** To be called when a link became ready. */
  noteReady(): void {
    this.#total.add(1);
    this.#note();
  }

  /** To be called when a link was lost. */
  noteLost(): void {
    this.#note();
  }

  #note(): void {
    const active = this.#links.filter((link) => link.isReady).length;
    this.#active.set(active);
    this.#connections(active);
  }
}
