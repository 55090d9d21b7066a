// Logs which resources are quarantined: those that connected pods NACKed, so that they are sent an
// earlier revision, or none. One line for each fleet and resource, however many pods.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { PodChange, PodRegistry, PodState } from "../pods/pod-registry.ts";
import type { Revision } from "../snapshot/revision.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";

export interface QuarantineLogDeps {
  readonly log: Log;
  readonly pods: PodRegistry;
}

/** Logs quarantines from start on. */
export class QuarantineLog implements Part {
  readonly name = "quarantine log";
  readonly #deps: QuarantineLogDeps;
  /** Number of pods by choice, by fleet: pods share choices, which may have thousands of earlier revisions. */
  readonly #pods = new Map<string, Map<Snapshot, number>>();
  /** Number of choices by quarantine. */
  readonly #choices = new Map<string, number>();
  #unsubscribe: () => void = () => undefined;

  constructor(deps: QuarantineLogDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unsubscribe = this.#deps.pods.onChanged((change) => this.#changed(change));
  }

  stop(): void {
    this.#unsubscribe();
  }

  #changed({ kind, before, pod }: PodChange): void {
    const [known, now] = [before?.choice, kind === "left" ? undefined : pod.choice];
    if (known === now) return;
    // A quarantine that both have in common does not end.
    if (now !== undefined && this.#countPod(pod.fleet, now, 1)) this.#begin(pod, now);
    if (known !== undefined && this.#countPod(pod.fleet, known, -1)) this.#end(pod.fleet, known);
  }

  /** Counts the pods with a choice; returns whether the first has got it, or the last has lost it. */
  #countPod(fleet: string, choice: Snapshot, difference: 1 | -1): boolean {
    if (choice.earlierRevisions.size === 0) return false;
    const pods = this.#pods.getOrInsertComputed(fleet, () => new Map());
    const count = add(pods, choice, difference);
    if (pods.size === 0) this.#pods.delete(fleet);
    return count === (difference === 1 ? 1 : 0);
  }

  #begin({ fleet, nacks, rejected }: PodState, { earlierRevisions }: Snapshot): void {
    for (const [resource, revision] of earlierRevisions) {
      const instead = insteadOf(revision);
      if (add(this.#choices, keyOf(fleet, resource, instead), 1) > 1) continue;
      const text = nacks.get(resource)?.message ?? rejected?.message;
      this.#deps.log.error(`Quarantined a resource that pods NACK, ${instead}`, { fleet, resource, text });
    }
  }

  #end(fleet: string, { earlierRevisions }: Snapshot): void {
    for (const [resource, revision] of earlierRevisions) {
      if (add(this.#choices, keyOf(fleet, resource, insteadOf(revision)), -1) > 0) continue;
      const isOver = !INSTEAD.some((instead) => this.#choices.has(keyOf(fleet, resource, instead)));
      if (isOver) this.#deps.log.info("Ended the quarantine of a resource", { fleet, resource });
    }
  }
}

/** Adds to a count, which goes at 0. */
function add<Key>(counts: Map<Key, number>, key: Key, difference: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + difference;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
  return count;
}

/** Texts for what pods are sent instead of a resource. */
const INSTEAD = ["an earlier revision is sent", "it is left out"] as const;

function insteadOf(revision: Revision | undefined): string {
  return INSTEAD[revision === undefined ? 1 : 0];
}

function keyOf(...fleetResourceAndInstead: readonly string[]): string {
  return JSON.stringify(fleetResourceAndInstead);
}
