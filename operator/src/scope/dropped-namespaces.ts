// Marks the resources of namespaces that the operator has watched and does not watch any more, before it
// forgets these: nothing enforces or observes them, and their last status would stay.
import type { Log } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";

import { LEASES } from "../leader/lease.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import { leaseWithNote, notable, notedNamespaces } from "./namespace-note.ts";
import { CONFIG_STATUS, SERVICE_STATUS, type StatusKind, writeNotWatched } from "./not-watched.ts";

/**
 * How long rights are waited for, in milliseconds: those that are granted with the operator may come after it, and an
 * API server that has just started refuses for a moment what it allows.
 */
const RIGHTS_WAIT_MS = 60_000;

/** How long a Lease that was deleted is waited for, in milliseconds: its holder makes it again. */
const LEASE_WAIT_MS = 5000;

export interface DroppedNamespacesDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  readonly objects: Pick<ObjectClient, "get" | "list"> & Pick<ObjectWriter, "apply" | "update">;
  /** The resources that are watched. */
  readonly watched: readonly Pick<ObjectLookup, "list">[];
}

/** The Lease of the operator, and its namespaces. */
export interface DroppedNamespacesOptions {
  readonly namespace: string;
  readonly leaseName: string;
  /** undefined: all are watched. */
  readonly namespaces: readonly string[] | undefined;
}

/** Keeps the note of the watched namespaces. Every key of its controller means all of them. */
export class DroppedNamespaces implements Reconciler {
  readonly name = "namespace";
  /** The key to reconcile. */
  readonly key: ObjectKey;
  readonly #deps: DroppedNamespacesDeps;
  readonly #namespaces: readonly string[] | undefined;
  /** The namespaces that this leader has noted last, separated by commas; undefined: none yet. */
  #noted: string | undefined;
  /** Since when rights are missing. */
  #deniedMs: number | undefined;

  constructor(deps: DroppedNamespacesDeps, { namespace, leaseName, namespaces }: DroppedNamespacesOptions) {
    this.#deps = deps;
    this.key = { namespace, name: leaseName };
    this.#namespaces = namespaces;
  }

  /** Forgets what it has noted as the leader before. */
  start(): void {
    this.#noted = this.#deniedMs = undefined;
  }

  /** Fails with ApiFailure. */
  async reconcile(_key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const { objects, watched } = this.#deps;
    const names = notable(watched.flatMap((each) => each.list()).map(({ namespace }) => namespace));
    if (this.#noted === names.join()) return {};
    const lease = await objects.get(LEASES, this.key, signal);
    if (lease === undefined) return { againAfterMs: LEASE_WAIT_MS };
    const noted = notedNamespaces(lease);
    await this.#markAll(
      noted.filter((name) => this.#namespaces?.includes(name) === false),
      signal,
    );
    if (noted.join() !== names.join()) await objects.update(LEASES, leaseWithNote(lease, names), {}, signal);
    this.#noted = names.join();
    return {};
  }

  /** Fails for want of a right while that may come. Then it says what is out of date, and what to do. */
  async #markAll(dropped: readonly string[], signal: AbortSignal): Promise<void> {
    const denied = new Map<string, ApiFailure>();
    for (const namespace of dropped)
      for (const kind of [CONFIG_STATUS, SERVICE_STATUS]) {
        const failure = await this.#mark(kind, namespace, signal);
        if (failure !== undefined) denied.set(namespace, failure);
      }
    const [first] = denied.values();
    if (first === undefined) return;
    const nowMs = this.#deps.monotonicMs();
    this.#deniedMs ??= nowMs;
    if (nowMs - this.#deniedMs < RIGHTS_WAIT_MS) throw first;
    for (const [namespace, error] of denied)
      this.#deps.log.warn("Statuses in a namespace that is not watched any more stay as they are", {
        namespace,
        error,
        command: `kubectl get ratelimitconfigs,ratelimitservices -n ${namespace} -o name | xargs -I{} kubectl patch {} -n ${namespace} --subresource=status --type=merge -p '{"status":null}'`,
      });
  }

  /** Returns why an object cannot be marked, after all others were. */
  async #mark(kind: StatusKind, namespace: string, signal: AbortSignal): Promise<ApiFailure | undefined> {
    const { log, objects } = this.#deps;
    const message = "Weir does not watch this namespace any more: WATCH_NAMESPACES does not name it";
    const text = { reason: "NotWatched", message } as const;
    const found: KubernetesObject[] = [];
    const failure = await refusalOf(async () => {
      found.push(...(await objects.list(kind.api, namespace, signal)));
    });
    const failures = failure === undefined ? [] : [failure];
    for (const object of found) {
      const refusal = await refusalOf(() => writeNotWatched(this.#deps, kind, object, { text, signal }));
      if (refusal !== undefined) failures.push(refusal);
    }
    if (found.length > failures.length)
      log.info("Marked resources of a namespace that is not watched any more", {
        kind: kind.kind,
        namespace,
        resources: found.length - failures.length,
      });
    return failures[0];
  }
}

/** The failure of work that the API server refuses; undefined when it succeeds. Other failures are thrown. */
async function refusalOf(work: () => Promise<unknown>): Promise<ApiFailure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof ApiFailure && error.isRefusal) return error;
    throw error;
  }
}
