// Logs which resources are quarantined: those that connected pods NACKed, so that they are sent an
// earlier form, or none. One line for each fleet and resource, however many pods.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { PodChange, PodRegistry, PodState } from "../pods/pod-registry.ts";

/** What pods are sent instead of a resource. */
const INSTEAD = ["an earlier form is sent", "it is left out"] as const;

/** What the log works with. */
export interface QuarantineLogDeps {
  readonly log: Log;
  readonly pods: PodRegistry;
}

/** Logs quarantines from start on. */
export class QuarantineLog implements Part {
  readonly name = "quarantine log";
  readonly #deps: QuarantineLogDeps;
  /** Pods by what each is sent instead of a resource. */
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
    for (const [key, fields] of now) {
      if (known.has(key)) continue;
      const count = (this.#counts.get(key) ?? 0) + 1;
      this.#counts.set(key, count);
      const { instead, ...rest } = fields;
      if (count === 1) log.error(`Quarantined a resource that pods NACK, ${instead}`, rest);
    }
    for (const [key, { fleet, resource }] of known) {
      if (now.has(key)) continue;
      const count = (this.#counts.get(key) ?? 0) - 1;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
      const isOver = !INSTEAD.some((instead) => this.#counts.has(keyOf(fleet, resource, instead)));
      if (isOver) log.info("Ended the quarantine of a resource", { fleet, resource });
    }
  }
}

type Instead = (typeof INSTEAD)[number];

interface Quarantine {
  readonly fleet: string;
  readonly resource: string;
  readonly instead: Instead;
  /** The text of the NACK. */
  readonly text: string | undefined;
}

function keyOf(fleet: string, resource: string, instead: Instead): string {
  return JSON.stringify([fleet, resource, instead]);
}

function quarantinesOf(pod: PodState | undefined): ReadonlyMap<string, Quarantine> {
  const { fleet = "", choice, nacks, rejected } = pod ?? {};
  const entries = [...(choice?.substitutes ?? [])].map(([resource, form]): readonly [string, Quarantine] => {
    const instead = form === undefined ? "it is left out" : "an earlier form is sent";
    const text = nacks?.get(resource)?.message ?? rejected?.message;
    return [keyOf(fleet, resource, instead), { fleet, resource, instead, text }];
  });
  return new Map(entries);
}
