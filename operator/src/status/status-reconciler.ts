// Writes the statuses of RateLimitConfigs. Reads caches only; a status that is right already is not
// written again.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { API_VERSION, KIND } from "@weir/crds/rate-limit-config/schema/schema";
import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

import type { EventRecorder } from "../events/event-recorder.ts";
import { MANAGER } from "../leader/managed-by.ts";
import { type ObjectLookup, withoutManagers } from "../reconcile/object-cache.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import type { MergedReports } from "../reports/merged-reports.ts";
import { observe, type ObservedResource, statusIn } from "./observed-resource.ts";
import { statusOf } from "./status-of.ts";
import { transitions } from "./transitions.ts";
import { dueWrite, nextCountsIntervalMs } from "./write-delay.ts";

/** The kind whose statuses are written. */
export const RATE_LIMIT_CONFIGS: ApiKind = {
  group: "ratelimit.weir.dev",
  version: "v1alpha1",
  plural: "ratelimitconfigs",
};

/** When an object is looked at again that was changed while its status was written, in milliseconds. */
const CONFLICT_WAIT_MS = 500;

/**
 * Shortest time between writes of any objects that change only numbers of pods, in milliseconds: one pod may
 * change them for thousands of objects, and edits must not wait for these.
 */
const COUNTS_SPACING_MS = 50;

export interface StatusDeps {
  /** Milliseconds since the epoch, for the times of conditions. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward, for delays. */
  readonly monotonicMs: () => number;
  readonly objects: Pick<ObjectWriter, "apply">;
  readonly events: Pick<EventRecorder, "record">;
  readonly configs: Pick<ObjectLookup, "get">;
  /** Returns the present reports of the control plane replicas. */
  readonly reports: () => MergedReports;
}

/** The state that is remembered of an object. */
interface Memory {
  /** The check of its spec, which costs more than all else. */
  spec: unknown;
  observed: ObservedResource;
  writtenMs: number | undefined;
  countsIntervalMs: number | undefined;
  /** When its turn comes to write numbers of pods; undefined: it waits for none. */
  countsTurnMs: number | undefined;
  awaitsSinceMs: number | undefined;
  awaitsPodsSinceMs: number | undefined;
  /** The object that the last write returned, until the cache has that or something newer. */
  written: { readonly replaced: string; readonly object: KubernetesObject } | undefined;
}

/** Writes statuses, one object at a time. */
export class StatusReconciler implements Reconciler, Part {
  readonly name = "ratelimitconfig";
  readonly #deps: StatusDeps;
  readonly #memories = new Map<string, Memory>();
  /** When the next object may write numbers of pods. */
  #freeTurnMs = -Infinity;

  constructor(deps: StatusDeps) {
    this.#deps = deps;
  }

  /** Forgets what was remembered while this process was the leader before: others may have written since. */
  start(): void {
    this.#memories.clear();
    this.#freeTurnMs = -Infinity;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const text = `${key.namespace}/${key.name}`;
    const cached = this.#deps.configs.get(key);
    if (cached === undefined) {
      this.#memories.delete(text);
      return {};
    }
    const memory = this.#remember(text, cached);
    // The watch may be behind what this process has written.
    if (memory.written?.replaced !== cached.resourceVersion) memory.written = undefined;
    const object = memory.written?.object ?? cached;
    const nowMs = this.#deps.monotonicMs();
    const reports = this.#deps.reports().of(text);
    const previous = statusIn(object);
    const computed = statusOf(memory.observed, reports, this.#deps.clock(), previous);
    const { awaits } = computed;
    memory.awaitsSinceMs = awaits === undefined ? undefined : (memory.awaitsSinceMs ?? nowMs);
    memory.awaitsPodsSinceMs = awaits === "pods" ? (memory.awaitsPodsSinceMs ?? nowMs) : undefined;
    const due = dueWrite(computed, { previous, history: memory }, nowMs);
    if (due === undefined) {
      // A written status holds nothing back: a pod that never answers must not use up the time of later changes.
      memory.awaitsSinceMs = memory.awaitsPodsSinceMs = undefined;
      endTurn(memory, nowMs);
      return {};
    }
    if (due.afterMs > 0) return { againAfterMs: due.afterMs };
    if (due.isCountsOnly) {
      const turnMs = this.#turnOf(memory, nowMs);
      if (turnMs > nowMs) return { againAfterMs: turnMs - nowMs };
    }
    endTurn(memory, nowMs);
    memory.countsIntervalMs = due.isCountsOnly ? nextCountsIntervalMs(memory, nowMs) : undefined;
    return await this.#write(object, computed.status, { memory, previous, replaced: cached.resourceVersion, signal });
  }

  /** When an object may write numbers of pods: the turn that it waits for, or else the next one. */
  #turnOf(memory: Memory, nowMs: number): number {
    if (memory.countsTurnMs === undefined) {
      // Turns of objects that are gone or need none any more must not add up.
      const lastMs = nowMs + this.#memories.size * COUNTS_SPACING_MS;
      memory.countsTurnMs = Math.max(nowMs, Math.min(this.#freeTurnMs, lastMs));
      this.#freeTurnMs = memory.countsTurnMs + COUNTS_SPACING_MS;
    }
    return memory.countsTurnMs;
  }

  #remember(text: string, object: KubernetesObject): Memory {
    const known = this.#memories.get(text);
    const spec = object.content["spec"];
    if (known?.observed.uid === object.uid) {
      const isSameSpec = known.spec === spec || JSON.stringify(known.spec) === JSON.stringify(spec);
      if (!isSameSpec) known.observed = observe(object);
      else if (known.observed.generation !== object.generation)
        known.observed = { ...known.observed, generation: object.generation ?? 0 };
      known.spec = spec;
      return known;
    }
    const memory: Memory = {
      spec,
      observed: observe(object),
      writtenMs: undefined,
      countsIntervalMs: undefined,
      countsTurnMs: undefined,
      awaitsSinceMs: undefined,
      awaitsPodsSinceMs: undefined,
      written: undefined,
    };
    this.#memories.set(text, memory);
    return memory;
  }

  async #write(
    object: KubernetesObject,
    status: RateLimitConfigStatus,
    {
      memory,
      previous,
      replaced,
      signal,
    }: {
      readonly memory: Memory;
      readonly previous: RateLimitConfigStatus | undefined;
      readonly replaced: string;
      readonly signal: AbortSignal;
    },
  ): Promise<ReconcileResult> {
    const { namespace, name, uid, resourceVersion } = object;
    // With the version that the status was computed from: a process that has slept must not overwrite
    // what another has written since.
    const applied = { apiVersion: API_VERSION, kind: KIND, metadata: { name, namespace, resourceVersion }, status };
    const options = { fieldManager: MANAGER, isForced: true, subresource: "status" };
    try {
      const written = await this.#deps.objects.apply(RATE_LIMIT_CONFIGS, applied, options, signal);
      memory.written = { replaced, object: withoutManagers(written) };
    } catch (error) {
      // Deleted meanwhile, or changed: the watch brings that.
      if (error instanceof ApiFailure && error.kind === "absent") return {};
      if (error instanceof ApiFailure && error.kind === "conflict") return { againAfterMs: CONFLICT_WAIT_MS };
      throw error;
    }
    memory.writtenMs = this.#deps.monotonicMs();
    const regarding = { apiVersion: API_VERSION, kind: KIND, namespace, name, uid };
    for (const event of transitions(previous, status)) this.#deps.events.record(regarding, event);
    return {};
  }
}

/** A turn that has come is over; one that is still to come stays for the next change of numbers. */
function endTurn(memory: Memory, nowMs: number): void {
  if (memory.countsTurnMs !== undefined && memory.countsTurnMs <= nowMs) memory.countsTurnMs = undefined;
}
