// The counts of pods as a feed: everything first, then what is new. A slow watcher is sent everything again.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import {
  type FleetCounts,
  type WatchCountsResponse,
  WatchCountsResponseSchema,
} from "@weir/proto/generated/weir/console/v1/console_pb";

import type { CountsFilter, ObserveHub } from "../observe/observe-hub.ts";
import { ReportError } from "../report/report-error.ts";
import type { RolloutFeed } from "../report/rollout/rollout-feed.ts";

/** Most watchers at a time. */
const WATCHERS_MAX = 32;

/** Most rules whose keys one watcher may want; further ones are left out. */
const KEYED_RULES_MAX = 32;

export interface ConsoleFeedDeps {
  readonly hub: Pick<ObserveHub, "watch">;
  readonly rollout: Pick<RolloutFeed, "changes">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly replica: string;
  readonly instance: string;
}

/** A watcher between two steps. */
interface WatcherState {
  /** The response that it has not taken yet. */
  next: WatchCountsResponse | undefined;
  hasBegun: boolean;
  wake: () => void;
}

/** The feed; a part that stops before the listeners, so that watchers get the reason. */
export class ConsoleFeed implements Part {
  readonly name = "console feed";
  readonly #deps: ConsoleFeedDeps;
  readonly #stopping = new AbortController();
  #watchers = 0;

  constructor(deps: ConsoleFeedDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Ends when the signal aborts; fails with SHUTTING_DOWN when the feed stops, and at the first step with
   * WATCHERS_EXCEEDED when there are too many.
   */
  async *watch(filter: CountsFilter, signal: AbortSignal): AsyncGenerator<WatchCountsResponse, void, undefined> {
    this.#refuseWhenStopping();
    if (this.#watchers >= WATCHERS_MAX) {
      const message = `Cannot watch the counts: this replica has ${WATCHERS_MAX} watchers already`;
      throw new ReportError("WATCHERS_EXCEEDED", message, { transient: true });
    }
    const ended = AbortSignal.any([signal, this.#stopping.signal]);
    const state: WatcherState = { next: undefined, hasBegun: false, wake: () => undefined };
    const wake = (): void => state.wake();
    this.#watchers += 1;
    ended.addEventListener("abort", wake, { once: true });
    const { fleet, keysOf } = filter;
    const leave = this.#deps.hub.watch({ fleet, keysOf: keysOf.slice(0, KEYED_RULES_MAX) }, (fleetsOf) => {
      // A response that is not taken yet is part of everything.
      const replaces = !state.hasBegun || state.next !== undefined;
      state.next = this.#response(replaces, fleetsOf(replaces));
      state.hasBegun = true;
      state.wake();
    });
    try {
      while (!ended.aborted) {
        if (state.next === undefined) await new Promise<void>((resolve) => (state.wake = resolve));
        const response = state.next;
        state.next = undefined;
        if (response !== undefined) yield response;
      }
    } finally {
      this.#watchers -= 1;
      leave();
      ended.removeEventListener("abort", wake);
    }
    if (!signal.aborted) this.#refuseWhenStopping();
  }

  #response(replaces: boolean, fleets: readonly FleetCounts[]): WatchCountsResponse {
    const { replica, instance, clock, rollout } = this.#deps;
    return create(WatchCountsResponseSchema, {
      ...{ replica, instance, replaces },
      observedAt: timestampFromMs(clock()),
      fleets: [...fleets],
      rolloutChanges: BigInt(rollout.changes),
    });
  }

  #refuseWhenStopping(): void {
    if (!this.#stopping.signal.aborted) return;
    const message = "Cannot watch the counts: the control plane is shutting down, connect again";
    throw new ReportError("SHUTTING_DOWN", message, { transient: true });
  }
}
