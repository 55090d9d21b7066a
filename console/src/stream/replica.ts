// One replica of the control plane: what it has sent, and its two streams.
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { WatchCountsResponseSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { type Rollout, WatchRolloutResponseSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { ReplicaCounts } from "@weir/proto/observe/merged-counts";

import type { RuleAddress } from "../route.ts";
import { followStream } from "./follow-stream.ts";
import type { ReplicaState } from "./replica-state.ts";
import { watchMethod, type WatchedMethod } from "./watch-method.ts";

const COUNTS = "weir.console.v1.ConsoleService/WatchCounts";
const ROLLOUT = "weir.rollout.v1.RolloutService/WatchRollout";

/** Longest time without a message on the stream of the rollout, in milliseconds. */
const HEARTBEAT_MS = 2_000;

export interface ReplicaDeps {
  /** Path or URL before the methods. */
  readonly base: string;
  readonly changed: () => void;
  readonly random: () => number;
}

/** The replica; its streams are open until `close`. */
export class Replica {
  readonly #deps: ReplicaDeps;
  readonly #closed = new AbortController();
  #rule: RuleAddress | undefined;
  #countsOpen = new AbortController();
  #counts: ReplicaCounts | undefined;
  #rollout: Rollout | undefined;
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
      method,
      (response) => {
        // The first response of a connection replaces everything; the view keeps the earlier counts until then.
        if (response.replaces) counts = new ReplicaCounts();
        counts.add(response);
        this.#counts = counts;
      },
      open.signal,
    );
  }

  #watchRollout(): void {
    const method = { method: ROLLOUT, request: { heartbeatMs: HEARTBEAT_MS }, response: WatchRolloutResponseSchema };
    this.#follow(
      "rollout",
      method,
      ({ rollout }) => {
        this.#rollout = rollout ?? this.#rollout;
      },
      this.#closed.signal,
    );
  }

  #follow<Response extends DescMessage>(
    stream: "counts" | "rollout",
    method: WatchedMethod<Response>,
    received: (response: MessageShape<Response>) => void,
    signal: AbortSignal,
  ): void {
    const { base, changed, random } = this.#deps;
    const deps = {
      open: (until: AbortSignal) => watchMethod(base, method, until),
      received: (response: MessageShape<Response>) => {
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
