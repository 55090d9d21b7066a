// Watches the counts of every replica until the signal aborts, and connects again after a pause.
import { setTimeout as pause } from "node:timers/promises";

import { Backoff } from "@weir/common/backoff/backoff";
import { ConsoleService, type RuleInfo } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ReplicaCounts } from "@weir/proto/observe/merged-counts";

import { CONSOLE, explainFailure } from "../rollout/failure.ts";
import { connect, type FindDeps, findTargets, nameOf, type Target } from "../rollout/rollout-client.ts";
import type { TopArguments } from "./arguments.ts";

/** Waits between attempts to connect, in milliseconds. */
const BACKOFF = { initialMs: 250, maxMs: 5_000, factor: 1, jitter: true } as const;

/** A replica that has sent nothing for so long is silent, in milliseconds: it sends every half second. */
const SILENT_MS = 5_000;

export interface CountsWatchDeps extends FindDeps {
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly answerTimeoutMs: number;
  readonly lookupIntervalMs: number;
}

/** A rule whose keys are wanted. */
export interface KeyedRule {
  readonly domain: string;
  readonly path: string;
}

/** The known state of a replica. */
export interface WatchedReplica {
  readonly server: string;
  readonly counts: ReplicaCounts | undefined;
  /** Why there are no counts, or no newer ones. */
  readonly error: string | undefined;
}

type GetRules = (fleet: string, rules: readonly KeyedRule[]) => Promise<readonly RuleInfo[]>;

interface Replica {
  readonly target: Target;
  readonly end: AbortController;
  /** Ends the present connection only. */
  restart: AbortController;
  isNamed: boolean;
  counts: ReplicaCounts | undefined;
  /** Asks it for the limits of rules; undefined: it is not connected. */
  getRules: GetRules | undefined;
  receivedMs: number;
  error: string | undefined;
  done: Promise<void>;
}

/** The replicas. */
export class CountsWatch {
  readonly #options: Pick<TopArguments, "servers" | "access" | "fleet">;
  readonly #deps: CountsWatchDeps;
  readonly #replicas = new Map<string, Replica>();
  #keysOf: readonly KeyedRule[] = [];

  constructor(options: Pick<TopArguments, "servers" | "access" | "fleet">, deps: CountsWatchDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Watches until the signal aborts. */
  async run(): Promise<void> {
    const { signal, lookupIntervalMs } = this.#deps;
    while (!signal.aborted) {
      await this.#lookUp();
      await sleep(lookupIntervalMs, signal);
    }
    await Promise.all([...this.#replicas.values()].map(async ({ done }) => done));
  }

  /** Asks every replica again, for the keys of these rules. */
  askKeys(rules: readonly KeyedRule[]): void {
    this.#keysOf = rules;
    for (const replica of this.#replicas.values()) {
      replica.counts = undefined;
      replica.restart.abort();
    }
  }

  /** The state of each replica, as far as it is known now. */
  replicas(): readonly WatchedReplica[] {
    return Array.from(this.#replicas, ([server, { counts, error, receivedMs }]) => {
      const silentMs = this.#deps.nowMs() - receivedMs;
      const silent = counts === undefined || silentMs < SILENT_MS ? undefined : silentText(server, silentMs);
      return { server, counts, error: error ?? silent };
    });
  }

  /** The limits of rules of a fleet, from a replica that answers: all have the same. */
  async getRules(fleet: string, rules: readonly KeyedRule[]): Promise<readonly RuleInfo[]> {
    for (const { getRules } of this.#replicas.values()) {
      // A fault of a replica is reported with its counts; another replica may answer.
      const found = await getRules?.(fleet, rules).catch(() => undefined);
      if (found !== undefined) return found;
    }
    return [];
  }

  async #lookUp(): Promise<void> {
    const targets = await findTargets(this.#options.servers, this.#deps);
    const named = new Set(targets.map(({ label }) => label));
    for (const [label, replica] of [...this.#replicas]) {
      replica.isNamed = named.has(label);
      if (!replica.isNamed && replica.error !== undefined) this.#forget(label);
    }
    for (const target of targets) if (!this.#replicas.has(target.label)) this.#begin(target);
  }

  #begin(target: Target): void {
    const replica: Replica = {
      target,
      end: new AbortController(),
      restart: new AbortController(),
      isNamed: true,
      counts: undefined,
      getRules: undefined,
      receivedMs: 0,
      error: undefined,
      done: Promise.resolve(),
    };
    this.#replicas.set(target.label, replica);
    replica.done = this.#follow(replica);
  }

  #forget(label: string): void {
    this.#replicas.get(label)?.end.abort();
    this.#replicas.delete(label);
  }

  async #follow(replica: Replica): Promise<void> {
    const ended = AbortSignal.any([this.#deps.signal, replica.end.signal]);
    const backoff = new Backoff({ ...BACKOFF, random: this.#deps.random });
    while (!ended.aborted) {
      const restart = new AbortController();
      replica.restart = restart;
      const error = await this.#watch(replica, AbortSignal.any([ended, restart.signal]), () => backoff.reset());
      if (restart.signal.aborted) continue;
      // Without its counts: the pods of a lost replica connect to others, and would count twice.
      replica.counts = undefined;
      replica.error = error;
      if (!replica.isNamed) this.#forget(replica.target.label);
      await sleep(backoff.nextMs(), ended);
    }
  }

  /** Watches one connection; returns why it ended. */
  async #watch(replica: Replica, signal: AbortSignal, received: () => void): Promise<string> {
    const { target } = replica;
    const { answerTimeoutMs, nowMs } = this.#deps;
    const { access, fleet } = this.#options;
    const connection = connect(target, access, ConsoleService);
    if (typeof connection === "string") return connection;
    const { client, headers, close } = connection;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), answerTimeoutMs);
    const counts = new ReplicaCounts();
    const getRules: GetRules = async (ofFleet, rules) => {
      const request = { fleet: ofFleet, rules: [...rules] };
      return (await client.getRules(request, { signal, headers, timeoutMs: answerTimeoutMs })).rules;
    };
    try {
      const until = { signal: AbortSignal.any([signal, silence.signal]), headers };
      for await (const response of client.watchCounts({ fleet, keysOf: [...this.#keysOf] }, until)) {
        timer.refresh();
        received();
        counts.add(response);
        Object.assign(replica, { counts, getRules, error: undefined, receivedMs: nowMs() });
      }
      return `${target.label} ended the connection`;
    } catch (error) {
      if (silence.signal.aborted) return silentText(nameOf(target), answerTimeoutMs);
      return explainFailure(nameOf(target), error, answerTimeoutMs, CONSOLE);
    } finally {
      replica.getRules = undefined;
      clearTimeout(timer);
      close();
    }
  }
}

function silentText(server: string, silentMs: number): string {
  return `${server} has sent nothing for ${Math.floor(silentMs / 1000)} s`;
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined); // Only the signal ends a pause early.
}
