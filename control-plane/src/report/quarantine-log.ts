// Logs which resources are quarantined: those that connected pods NACKed, so that they are sent an
// earlier form, or none. One line for each fleet and resource, however many pods.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { PodChange, PodRegistry, PodState } from "../pods/pod-registry.ts";

/** What the log works with. */
export interface QuarantineLogDeps {
  readonly log: Log;
  readonly pods: PodRegistry;
}

/** Logs quarantines from start on. */
export class QuarantineLog implements Part {
  readonly name = "quarantine log";
  readonly #deps: QuarantineLogDeps;
  /** Number of pods by quarantine. */
  readonly #counts = new Map<string, number>();
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
    const { log } = this.#deps;
    const [known, now] = [quarantinesOf(before), quarantinesOf(kind === "left" ? undefined : pod)];
    for (const [key, { instead, ...fields }] of now) {
      if (known.has(key)) continue;
      const count = this.#count(key, 1);
      if (count === 1) log.error(`Quarantined a resource that pods NACK, ${instead}`, fields);
    }
    for (const [key, { fleet, resource }] of known) {
      if (now.has(key) || this.#count(key, -1) > 0) continue;
      const isOver = !INSTEAD.some((instead) => this.#counts.has(keyOf(fleet, resource, instead)));
      if (isOver) log.info("Ended the quarantine of a resource", { fleet, resource });
    }
  }

  #count(key: string, difference: number): number {
    const count = (this.#counts.get(key) ?? 0) + difference;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    return count;
  }
}

/** What pods are sent instead of a resource. */
const INSTEAD = ["an earlier form is sent", "it is left out"] as const;

function keyOf(...fleetResourceAndInstead: readonly string[]): string {
  return JSON.stringify(fleetResourceAndInstead);
}

/** What a pod is sent instead of resources, by key, with the text of the NACK. */
function quarantinesOf({ fleet = "", choice, nacks, rejected }: Partial<PodState> = {}) {
  return new Map(
    (choice?.substitutes ?? new Map<string, undefined>()).entries().map(([resource, form]) => {
      const instead = INSTEAD[form === undefined ? 1 : 0];
      const text = nacks?.get(resource)?.message ?? rejected?.message;
      return [keyOf(fleet, resource, instead), { fleet, resource, instead, text }];
    }),
  );
}
