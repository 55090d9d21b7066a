// One call whose checks go to several nodes: a group per node, of which a limited number is in
// flight (KVSTORE_CLUSTER_PIPELINE_PARALLELISM). When one fails, those after it are not sent.
import { silenceError, type StoreError } from "../../store-error.ts";
import type { CountBatch, CountedCheck } from "../../counter.ts";

export interface GroupedCallDeps {
  /**
   * Sends a check of a group to the node that owns its slot; the group is its batch, and `nowMs` is
   * by the clock of `monotonicMs`.
   */
  readonly send: (
    check: CountedCheck,
    group: CountBatch,
    how: { readonly isRead: boolean; readonly nowMs: number },
  ) => void;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** Limits of a call. */
export interface GroupedCallOptions {
  /** Most groups in flight. */
  readonly parallelism: number;
  /** Longest time for all groups together, in milliseconds. */
  readonly timeoutMs: number;
  /** The cluster, for messages. */
  readonly text: string;
}

/** A call that is sent in groups. Checks are added one after the other, before any answer comes. */
export class GroupedCall {
  readonly batch: CountBatch;
  readonly isRead: boolean;
  /** When it arrived. */
  readonly createdMs: number;
  readonly #deps: GroupedCallDeps;
  readonly #options: GroupedCallOptions;
  readonly #groups: Group[] = [];
  /** The first group that was not sent. */
  #next = 0;
  /** Groups without an answer. */
  #unanswered = 0;

  constructor(
    call: { readonly batch: CountBatch; readonly isRead: boolean; readonly createdMs: number },
    deps: GroupedCallDeps,
    options: GroupedCallOptions,
  ) {
    this.batch = call.batch;
    this.isRead = call.isRead;
    this.createdMs = call.createdMs;
    this.#deps = deps;
    this.#options = options;
  }

  /** True if each of its groups has an answer, or none is needed any more. */
  get isOver(): boolean {
    return this.#groups.length > 0 && this.#unanswered === 0;
  }

  /**
   * Adds a check for a node, which any value may identify. Groups are in the order in which their
   * nodes were seen first.
   */
  add(check: CountedCheck, node: unknown): void {
    let group = this.#groups.find((each) => each.node === node);
    if (group === undefined) {
      group = new Group(this, node, this.#deadlineMs);
      this.#groups.push(group);
      this.#unanswered += 1;
      if (this.#next < this.#options.parallelism) {
        group.isSent = true;
        this.#next += 1;
      }
    }
    group.checks.push(check);
    group.pending += 1;
    // With the time of the call: the node must report why it fails before the time of the whole
    // call is over.
    if (group.isSent) this.#deps.send(check, group, { isRead: this.isRead, nowMs: this.createdMs });
  }

  /** Takes the counts of a group, and sends the next one. */
  groupCounted(group: Group): void {
    const { batch } = this;
    this.#unanswered -= 1;
    if (batch.pending <= 0) return; // Failed in the meantime; nothing more of it is sent.
    batch.pending -= group.checks.length;
    if (batch.pending === 0) {
      batch.counted();
      return;
    }
    const next = this.#groups[this.#next];
    if (next === undefined) return;
    this.#next += 1;
    next.isSent = true;
    const how = { isRead: this.isRead, nowMs: this.#deps.monotonicMs() };
    for (const check of next.checks) this.#deps.send(check, next, how);
  }

  /** Fails the call, because a group has failed. */
  groupFailed(error: StoreError): void {
    const { batch } = this;
    this.#unanswered = 0;
    if (batch.pending <= 0) return;
    batch.pending = 0;
    const { deadlineMs } = batch;
    // The deadline of a group may be the time limit of the whole call instead of the caller's
    // deadline.
    const isOurs =
      error.code === "DEADLINE_EXCEEDED" && (deadlineMs === undefined || this.#deps.monotonicMs() < deadlineMs);
    batch.failed(isOurs ? silenceError(this.#options.text, this.#options.timeoutMs) : error);
  }

  get #deadlineMs(): number {
    return Math.min(this.batch.deadlineMs ?? Infinity, this.createdMs + this.#options.timeoutMs);
  }
}

/** The checks of a call for one node. For its server it is a call of its own. */
class Group implements CountBatch {
  readonly node: unknown;
  readonly checks: CountedCheck[] = [];
  readonly deadlineMs: number;
  pending = 0;
  isSent = false;
  readonly #call: GroupedCall;

  constructor(call: GroupedCall, node: unknown, deadlineMs: number) {
    this.#call = call;
    this.node = node;
    this.deadlineMs = deadlineMs;
  }

  counted(): void {
    this.#call.groupCounted(this);
  }

  failed(error: StoreError): void {
    this.#call.groupFailed(error);
  }
}
