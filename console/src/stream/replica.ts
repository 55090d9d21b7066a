// One replica of the control plane: what it has sent. A browser opens six connections to one address, and a stream takes
// one: the counts have a stream, which says when the rollout may have changed, and that is asked for then.
import { WatchCountsResponseSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import {
  type GetRolloutResponse,
  GetRolloutResponseSchema,
  type Rollout,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { ReplicaCounts } from "@weir/proto/observe/merged-counts";

import type { RuleAddress } from "../route.ts";
import { callMethod } from "./call-method.ts";
import { followStream, pause } from "./follow-stream.ts";
import type { ReplicaState } from "./replica-state.ts";
import { watchMethod } from "./watch-method.ts";

const COUNTS = "weir.console.v1.ConsoleService/WatchCounts";
const ROLLOUT = "weir.rollout.v1.RolloutService/GetRollout";

/** How often the rollout is asked for at most when it changes, and in any case, in milliseconds. */
const ROLLOUT_INTERVAL_MIN_MS = 1_000;
const ROLLOUT_INTERVAL_MAX_MS = 4_000;

/** Longest wait for it, in milliseconds. */
const ROLLOUT_TIMEOUT_MS = 4_000;

export interface ReplicaDeps {
  /** Path or URL before the methods. */
  readonly base: string;
  readonly changed: () => void;
  readonly random: () => number;
}

/** The replica; it is watched until `close`. */
export class Replica {
  readonly #deps: ReplicaDeps;
  readonly #closed = new AbortController();
  #rule: RuleAddress | undefined;
  #countsOpen = new AbortController();
  #counts: ReplicaCounts | undefined;
  #rollout: Rollout | undefined;
  /** Aborted when the rollout may have changed. */
  #rolloutChanged = new AbortController();
  #rolloutChanges = 0n;
  readonly #errors: Record<"counts" | "rollout", string | undefined> = { counts: undefined, rollout: undefined };

  /** `rule` is the one whose keys are wanted. */
  constructor(deps: ReplicaDeps, rule: RuleAddress | undefined) {
    this.#deps = deps;
    this.#rule = rule;
    this.#watchCounts();
    this.#watchRollout();
  }

  close(): void {
    this.#closed.abort();
  }

  /** Asks for the keys of another rule. */
  askKeys(rule: RuleAddress | undefined): void {
    if (JSON.stringify(rule) === JSON.stringify(this.#rule)) return;
    this.#rule = rule;
    this.#countsOpen.abort();
    this.#watchCounts();
  }

  state(): ReplicaState {
    const { counts, rollout } = this.#errors;
    const names = [this.#counts?.replica, this.#rollout?.replica, this.#deps.base, "the control plane"];
    return {
      name: names.find((name) => name !== undefined && name !== "") ?? "",
      counts: this.#counts,
      rollout: this.#rollout,
      error: counts ?? rollout,
    };
  }

  #watchCounts(): void {
    const open = new AbortController();
    this.#countsOpen = open;
    const keysOf = this.#rule === undefined ? [] : [{ domain: this.#rule.domain, path: this.#rule.path }];
    const method = { method: COUNTS, request: { keysOf }, response: WatchCountsResponseSchema };
    let counts = new ReplicaCounts();
    this.#follow(
      "counts",
      (until) => watchMethod(this.#deps.base, method, until),
      (response) => {
        // The first response of a connection replaces everything; the view keeps the earlier counts until then.
        if (response.replaces) counts = new ReplicaCounts();
        counts.add(response);
        this.#counts = counts;
        if (response.rolloutChanges === this.#rolloutChanges) return;
        this.#rolloutChanges = response.rolloutChanges;
        this.#rolloutChanged.abort();
        this.#rolloutChanged = new AbortController();
      },
      open.signal,
    );
  }

  #watchRollout(): void {
    this.#follow(
      "rollout",
      (until) => this.#rollouts(until),
      ({ rollout }) => {
        this.#rollout = rollout;
      },
      this.#closed.signal,
    );
  }

  /** The rollout when it may have changed, and every few seconds, until the signal aborts. */
  async *#rollouts(signal: AbortSignal): AsyncGenerator<GetRolloutResponse, void, undefined> {
    const method = { method: ROLLOUT, request: {}, response: GetRolloutResponseSchema };
    while (!signal.aborted) {
      const changed = this.#rolloutChanged.signal;
      const timeout = AbortSignal.timeout(ROLLOUT_TIMEOUT_MS);
      yield await callMethod(this.#deps.base, method, AbortSignal.any([signal, timeout]));
      await pause(ROLLOUT_INTERVAL_MIN_MS, signal);
      if (changed.aborted) continue;
      await pause(ROLLOUT_INTERVAL_MAX_MS - ROLLOUT_INTERVAL_MIN_MS, AbortSignal.any([signal, changed]));
    }
  }

  #follow<Response>(
    stream: "counts" | "rollout",
    open: (until: AbortSignal) => AsyncIterable<Response>,
    received: (response: Response) => void,
    signal: AbortSignal,
  ): void {
    const { changed, random } = this.#deps;
    const deps = {
      open,
      received: (response: Response) => {
        this.#errors[stream] = undefined;
        received(response);
        changed();
      },
      failed: (reason: string) => {
        this.#errors[stream] = reason;
        changed();
      },
      random,
    };
    void followStream(deps, AbortSignal.any([this.#closed.signal, signal]));
  }
}
