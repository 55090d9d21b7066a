// Follows each push from the change of resources to the last answer of the pods that were connected
// then: one span, and one log line at the end.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";

import { podName } from "../ads/stream/node-identity.ts";
import type { PodChange, PodRegistry, PodState } from "../pods/pod-registry.ts";
import { syncStatusOf } from "../pods/sync-status.ts";
import { fleetName } from "../snapshot/publication-log.ts";
import { OTHER_FLEETS } from "../snapshot/publication.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";

/** When missing answers are logged, in milliseconds; envoyproxy/ratelimit takes a second. */
const ANSWER_MAX_MS = 60_000;

/** Most names in an attribute or a line. */
const NAMES_MAX = 20;

/** How a push ended. */
type Outcome = "accepted" | "rejected" | "unanswered" | "superseded" | "no pods" | "stopped";

/** A span. */
export type Span = ReturnType<NonNullable<Tracing["tracer"]>["startSpan"]>;

/** Marks a span as failed. */
export type MarkFailed = (span: Span, message: string) => void;

/** What pushes are followed with. */
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

/** A push that is not over. */
interface Push {
  readonly fleet: string;
  readonly snapshot: Snapshot;
  readonly changedMs: number;
  readonly pods: number;
  /** Pods that were connected and have not answered. */
  readonly waiting: Set<PodState>;
  readonly span: Span | undefined;
  readonly timer: NodeJS.Timeout | undefined;
  accepted: number;
  rejected: number;
}

/** Follows pushes from start on. */
export class PushFollower implements Part {
  readonly name = "push follower";
  readonly #deps: PushFollowerDeps;
  /** The push that each fleet is in. */
  readonly #open = new Map<string, Push>();
  readonly #last = new Map<string, Snapshot>();
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
    for (const push of [...this.#open.values()]) this.#end(push, "stopped");
  }

  #published(): void {
    const { publication, changedMs } = this.#deps.publisher.state();
    for (const [fleet, { snapshot }] of publication) {
      const before = this.#last.get(fleet) ?? this.#last.get(OTHER_FLEETS);
      if (snapshot === undefined || this.#last.get(fleet)?.version === snapshot.version) continue;
      this.#last.set(fleet, snapshot);
      const earlier = this.#open.get(fleet);
      if (earlier !== undefined) this.#end(earlier, "superseded");
      this.#begin(fleet, { snapshot, before, changedMs: changedMs.get(fleet) ?? this.#deps.clock() });
    }
    for (const fleet of [...this.#last.keys()]) {
      if (publication.has(fleet)) continue;
      this.#last.delete(fleet);
      const push = this.#open.get(fleet);
      if (push !== undefined) this.#end(push, "superseded");
    }
  }

  #begin(
    fleet: string,
    what: { readonly snapshot: Snapshot; readonly before: Snapshot | undefined; readonly changedMs: number },
  ): void {
    const { snapshot, before, changedMs } = what;
    const { publisher, pods, tracer } = this.#deps;
    const { publication } = publisher.state();
    const isMember = (pod: PodState): boolean => (publication.has(pod.fleet) ? pod.fleet : OTHER_FLEETS) === fleet;
    const members = pods.list().filter(isMember);
    // Pods of a newly named fleet no longer belong to another push.
    for (const other of [...this.#open.values()]) this.#release(other, members);
    const waiting = new Set(members.filter((pod) => hasToAnswer(pod, snapshot.version)));
    // Computed for spans only: for all fleets in one turn it takes time.
    const changed = tracer === undefined ? [] : changedNames(before, snapshot);
    const span = tracer?.startSpan("push", {
      startTime: changedMs,
      attributes: {
        "weir.fleet": fleetName(fleet),
        "weir.version": snapshot.version,
        "weir.bytes": snapshot.sizeBytes,
        "weir.resources": snapshot.forms.length,
        "weir.resources.changed": changed.slice(0, NAMES_MAX),
        "weir.resources.changed.count": changed.length,
        "weir.pods": waiting.size,
      },
    });
    const push: Push = {
      fleet,
      snapshot,
      changedMs,
      pods: waiting.size,
      waiting,
      span,
      timer: waiting.size === 0 ? undefined : setTimeout(() => this.#end(push, "unanswered"), ANSWER_MAX_MS).unref(),
      accepted: 0,
      rejected: 0,
    };
    this.#open.set(fleet, push);
    if (waiting.size === 0) this.#end(push, "no pods");
  }

  #answered({ kind, before, pod }: PodChange): void {
    if (before === undefined) return;
    const push = this.#open.get(pod.fleet) ?? this.#open.get(OTHER_FLEETS);
    if (push?.waiting.delete(before) !== true) return;
    const status = syncStatusOf(pod, push.snapshot.version);
    if (status === "current") push.accepted += 1;
    else if (kind !== "left" && status === "rejected" && lacksSome(pod, push.snapshot)) this.#noteRejection(push, pod);
    else if (kind !== "left") push.waiting.add(pod);
    if (push.waiting.size === 0) this.#end(push, outcomeOf(push));
  }

  #release(push: Push, pods: readonly PodState[]): void {
    const before = push.waiting.size;
    for (const pod of pods) push.waiting.delete(pod);
    if (push.waiting.size < before && push.waiting.size === 0) this.#end(push, outcomeOf(push));
  }

  #noteRejection(push: Push, { nodeId, rejected }: PodState): void {
    push.rejected += 1;
    push.span?.addEvent("rejected", { "weir.node": nodeId, "weir.rejection": rejected?.message ?? "" });
  }

  #end(push: Push, outcome: Outcome): void {
    clearTimeout(push.timer);
    this.#open.delete(push.fleet);
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
  }

  #log({ fleet, snapshot, changedMs, pods, accepted, rejected, waiting }: Push, outcome: Outcome): void {
    const { log, clock } = this.#deps;
    const fields = { fleet: fleetName(fleet), version: snapshot.version, pods };
    switch (outcome) {
      case "accepted":
        log.info("Every connected pod has ACKed the snapshot", {
          ...fields,
          tookMs: Math.max(0, clock() - changedMs),
        });
        break;
      case "rejected":
        log.warn("Every connected pod has answered, and not all ACKed the snapshot", {
          ...fields,
          accepted,
          rejected,
        });
        break;
      case "unanswered": {
        const names = [...waiting].slice(0, NAMES_MAX).map((pod) => podName(pod, pod.peer));
        log.warn("Pods have not answered the snapshot", {
          ...fields,
          accepted,
          rejected,
          waiting: waiting.size,
          names,
        });
        break;
      }
      case "superseded":
      case "no pods":
      case "stopped":
        break;
    }
  }
}

/** A pod that has ACKed or NACKed the version already is not sent it again. */
function hasToAnswer(pod: PodState, version: string): boolean {
  return syncStatusOf(pod, version) !== "current" && pod.rejected?.version !== version;
}

/** Whether a pod NACKed a snapshot, or is sent substitutes; other NACKs are about earlier content. */
function lacksSome({ rejected, choice }: PodState, { version }: Snapshot): boolean {
  return rejected?.version === version || (choice?.substitutes.size ?? 0) > 0;
}

/** The outcome when no pod is waited for any more. */
function outcomeOf({ accepted, rejected }: Push): Outcome {
  if (rejected > 0) return "rejected";
  return accepted > 0 ? "accepted" : "no pods";
}

/** Names of the resources that are new, other or gone. */
function changedNames(before: Snapshot | undefined, after: Snapshot): readonly string[] {
  const gone = (before?.forms ?? []).map(({ name }) => name).filter((name) => after.get(name) === undefined);
  return [
    ...after.forms.filter(({ name, digest }) => before?.get(name)?.digest !== digest).map(({ name }) => name),
    ...gone,
  ];
}
