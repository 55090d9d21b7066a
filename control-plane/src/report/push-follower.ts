// Follows each push from the change of resources to the last answer of the pods that were connected
// then: one span, and one log line at the end.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";

import { podName } from "../ads/stream/node-identity.ts";
import type { PodChange, PodRegistry, PodState } from "../pods/pod-registry.ts";
import { syncStatusOf } from "../pods/sync-status.ts";
import { entryFor, OTHER_FLEETS } from "../snapshot/publication.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";

/** When missing answers are logged, in milliseconds; envoyproxy/ratelimit takes a second. */
const ANSWER_MAX_MS = 60_000;

/** Most names in an attribute or a line. */
const NAMES_MAX = 20;

/** How a push ended. */
type Outcome = "accepted" | "rejected" | "unanswered" | "superseded" | "no pods" | "stopped";

export type Span = ReturnType<NonNullable<Tracing["tracer"]>["startSpan"]>;

/** Marks a span as failed. */
export type MarkFailed = (span: Span, message: string) => void;

export interface PushFollowerDeps {
  readonly log: Log;
  readonly clock: () => number;
  readonly publisher: Pick<Publisher, "state" | "onPublished">;
  readonly pods: PodRegistry;
  /** Records a span for each push; undefined records none. */
  readonly tracer?: Tracing["tracer"];
  /** Marks a span as failed. */
  readonly markFailed?: MarkFailed | undefined;
}

interface Push {
  readonly fleet: string;
  readonly snapshot: Snapshot;
  readonly changedMs: number;
  readonly pods: number;
  /** Pods that were connected and have not answered. */
  readonly waiting: Set<PodState>;
  readonly span: Span | undefined;
  readonly timer: NodeJS.Timeout;
  accepted: number;
  rejected: number;
  isOver: boolean;
}

/** Follows pushes from start on. */
export class PushFollower implements Part {
  readonly name = "push follower";
  readonly #deps: PushFollowerDeps;
  /** The last push of each fleet. */
  readonly #pushes = new Map<string, Push>();
  readonly #unsubscribe: (() => void)[] = [];

  constructor(deps: PushFollowerDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { publisher, pods } = this.#deps;
    this.#unsubscribe.push(
      publisher.onPublished(() => this.#published()),
      pods.onChanged((change) => this.#answered(change)),
    );
    this.#published();
  }

  /** Ends the open spans, and begins no more. May be called more than once. */
  stop(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    for (const push of this.#pushes.values()) this.#end(push, "stopped");
  }

  #published(): void {
    const { publication } = this.#deps.publisher.state();
    // All fleets in one turn: to look for the pods of each among thousands takes time.
    const members = Map.groupBy(this.#deps.pods.list(), (pod) => entryFor(publication, pod.fleet));
    for (const [fleet, { snapshot }] of publication) {
      const earlier = this.#pushes.get(fleet);
      if (snapshot === undefined || earlier?.snapshot.version === snapshot.version) continue;
      if (earlier !== undefined) this.#end(earlier, "superseded");
      this.#pushes.set(fleet, this.#begin(fleet, snapshot, members.get(fleet) ?? []));
    }
    for (const push of this.#pushes.values()) {
      const { fleet, waiting } = push;
      if (!publication.has(fleet)) {
        this.#end(push, "superseded");
        this.#pushes.delete(fleet);
      }
      // Pods of a newly named fleet no longer belong to the push of all others.
      for (const pod of waiting) if (entryFor(publication, pod.fleet) !== fleet) waiting.delete(pod);
      if (waiting.size === 0) this.#end(push, outcomeOf(push));
    }
  }

  #begin(fleet: string, snapshot: Snapshot, members: readonly PodState[]): Push {
    const { publisher, tracer, clock } = this.#deps;
    const { changedMs } = publisher.state();
    const waiting = new Set(members.filter((pod) => hasToAnswer(pod, snapshot.version)));
    const startTime = changedMs.get(fleet) ?? clock();
    const { snapshot: before } = this.#pushes.get(fleet) ?? this.#pushes.get(OTHER_FLEETS) ?? {};
    // Computed for spans only: for all fleets in one turn it takes time.
    const changed = tracer === undefined ? [] : changedNames(before, snapshot);
    const span = tracer?.startSpan("push", {
      startTime,
      attributes: {
        "weir.fleet": fleet,
        "weir.version": snapshot.version,
        "weir.bytes": snapshot.sizeBytes,
        "weir.resources": snapshot.revisions.length,
        "weir.resources.changed": changed.slice(0, NAMES_MAX),
        "weir.resources.changed.count": changed.length,
        "weir.pods": waiting.size,
      },
    });
    const timer = setTimeout(() => this.#end(push, "unanswered"), ANSWER_MAX_MS).unref();
    const facts = { fleet, snapshot, changedMs: startTime, pods: waiting.size, waiting, span, timer };
    const push: Push = { ...facts, accepted: 0, rejected: 0, isOver: false };
    return push;
  }

  #answered({ kind, before, pod }: PodChange): void {
    const push = this.#pushes.get(pod.fleet) ?? this.#pushes.get(OTHER_FLEETS);
    if (before === undefined || push?.isOver !== false || !push.waiting.delete(before)) return;
    const status = syncStatusOf(pod, push.snapshot.version);
    if (status === "current") push.accepted += 1;
    else if (kind !== "left" && status === "rejected" && lacksSome(pod, push.snapshot)) {
      push.rejected += 1;
      push.span?.addEvent("rejected", { "weir.node": pod.nodeId, "weir.rejection": pod.rejected?.message ?? "" });
    } else if (kind !== "left") push.waiting.add(pod);
    if (push.waiting.size === 0) this.#end(push, outcomeOf(push));
  }

  /** Has no effect on a push that is over. */
  #end(push: Push, outcome: Outcome): void {
    if (push.isOver) return;
    push.isOver = true;
    clearTimeout(push.timer);
    const { accepted, rejected, waiting, span } = push;
    span?.setAttributes({
      "weir.outcome": outcome,
      "weir.pods.accepted": accepted,
      "weir.pods.rejected": rejected,
      "weir.pods.waiting": waiting.size,
    });
    if (span !== undefined && (outcome === "rejected" || outcome === "unanswered"))
      this.#deps.markFailed?.(span, `pods: ${outcome}`);
    span?.end(this.#deps.clock());
    this.#log(push, outcome);
    waiting.clear();
  }

  #log({ fleet, snapshot, changedMs, pods, accepted, rejected, waiting }: Push, outcome: Outcome): void {
    const { log, clock } = this.#deps;
    const fields = { fleet, version: snapshot.version, pods };
    if (outcome === "accepted") {
      const tookMs = Math.max(0, clock() - changedMs);
      log.info("Every connected pod has ACKed the snapshot", { ...fields, tookMs });
    } else if (outcome === "rejected") {
      const message = "Every connected pod has answered, and not all ACKed the snapshot";
      log.warn(message, { ...fields, accepted, rejected });
    } else if (outcome === "unanswered") {
      const names = [...waiting].slice(0, NAMES_MAX).map((pod) => podName(pod, pod.peer));
      const numbers = { accepted, rejected, waiting: waiting.size };
      log.warn("Pods have not answered the snapshot", { ...fields, ...numbers, names });
    }
  }
}

/** A pod that has ACKed or NACKed the version already is not sent it again. */
function hasToAnswer(pod: PodState, version: string): boolean {
  return syncStatusOf(pod, version) !== "current" && pod.rejected?.version !== version;
}

/** Returns true if a pod NACKed a snapshot, or is sent earlier revisions; other NACKs are about earlier content. */
function lacksSome({ rejected, choice }: PodState, { version }: Snapshot): boolean {
  return rejected?.version === version || (choice?.earlierRevisions.size ?? 0) > 0;
}

/** The outcome when no pod is waited for any more. */
function outcomeOf({ accepted, rejected }: Push): Outcome {
  if (rejected > 0) return "rejected";
  return accepted > 0 ? "accepted" : "no pods";
}

/** Names of the resources that are new, other or gone. */
function changedNames(before: Snapshot | undefined, after: Snapshot): readonly string[] {
  const changed = after.revisions.filter(({ name, digest }) => before?.get(name)?.digest !== digest);
  const gone = (before?.revisions ?? []).filter(({ name }) => after.get(name) === undefined);
  return [...changed, ...gone].map(({ name }) => name);
}
