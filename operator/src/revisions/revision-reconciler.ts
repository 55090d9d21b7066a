// Keeps the last good revision of each RateLimitConfig as a RateLimitConfigRevision: the last one that every
// connected pod which is sent it has ACKed.
import type { Log } from "@weir/common/log/log";
import { API_VERSION } from "@weir/crds/schema/api-version";
import {
  ownerOfRevision,
  REVISION_PLURAL,
  revisionName,
  revisionOf,
} from "@weir/crds/rate-limit-config-revision/revision";
import { KIND } from "@weir/crds/rate-limit-config/schema/schema";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

import type { EventRecorder } from "../events/event-recorder.ts";
import { MANAGER } from "../leader/managed-by.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import type { LoadedRevisions } from "./loaded-revisions.ts";
import { OwnedRevisions } from "./owned-revisions.ts";

const [GROUP = "", VERSION = ""] = API_VERSION.split("/");

export const REVISIONS: ApiKind = { group: GROUP, version: VERSION, plural: REVISION_PLURAL };

export interface RevisionReconcilerDeps {
  readonly log: Log;
  readonly objects: Pick<ObjectWriter, "apply" | "delete">;
  readonly events: Pick<EventRecorder, "record">;
  /** RateLimitConfigs. */
  readonly configs: Pick<ObjectLookup, "get">;
  /** RateLimitConfigRevisions. */
  readonly revisions: Pick<ObjectLookup, "list" | "onChange">;
  readonly loaded: LoadedRevisions;
}

/**
 * Reconciles by the key of the RateLimitConfig: to be called when it, a revision that it owns, or what is
 * known about its loaded revisions changes. Revisions of configs that are gone are left to Kubernetes,
 * which deletes them with their owner.
 */
export class RevisionReconciler implements Reconciler {
  readonly name = "ratelimitconfigrevision";
  readonly #deps: RevisionReconcilerDeps;
  readonly #owned: OwnedRevisions;
  /** The name of each spec's revision: a large spec takes a while. */
  readonly #names = new WeakMap<KubernetesObject, string>();
  /** By `<namespace>/<name>` of the config, the name of a revision whose content the API server refuses. */
  readonly #refused = new Map<string, string>();

  constructor(deps: RevisionReconcilerDeps) {
    this.#deps = deps;
    this.#owned = new OwnedRevisions(deps.revisions);
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const { objects, configs, loaded } = this.#deps;
    const config = configs.get(key);
    if (config === undefined) this.#refused.delete(`${key.namespace}/${key.name}`);
    if (config === undefined || isBeingDeleted(config)) return {};
    const { namespace, name, uid, generation } = config;
    // Only then the current revision is known to be good; otherwise what was kept stays.
    if (generation === undefined || loaded.loadedGeneration(config) !== generation) return {};
    const spec = config.content["spec"];
    const wanted = this.#names.getOrInsertComputed(config, () => revisionName({ namespace, name, uid }, spec));
    const owned = this.#owned.of(config);
    if (!owned.some((revision) => revision.name === wanted)) {
      await this.#keep(config, wanted, signal);
      // Its event causes another call, which deletes the others: never before the cache has seen the new one.
      return {};
    }
    for (const old of owned) {
      if (old.name === wanted) continue;
      await objects.delete(REVISIONS, old, { uid: old.uid, propagationPolicy: "Background" }, signal);
    }
    return {};
  }

  /** Creates the revision of the current revision, unless the API server has refused the same content. */
  async #keep(config: KubernetesObject, revision: string, signal: AbortSignal): Promise<void> {
    const { log, objects, events } = this.#deps;
    const { namespace, name, uid, content } = config;
    const resource = `${namespace}/${name}`;
    if (this.#refused.get(resource) === revision) return;
    const written = revisionOf({ namespace, name, uid }, content["spec"]);
    try {
      await objects.apply(REVISIONS, written, { fieldManager: MANAGER, isForced: true }, signal);
    } catch (error) {
      if (!(error instanceof ApiFailure && error.isContentRefused)) throw error;
      this.#refused.set(resource, revision);
      log.warn("Cannot keep the last good revision of a RateLimitConfig until its spec changes", {
        resource,
        revision,
        error,
      });
      const note = `the API server refuses a RateLimitConfigRevision of this spec: ${error.reason}`;
      const text = { type: "Warning", reason: "LastGoodNotKept", action: "Keep", note } as const;
      events.record({ apiVersion: API_VERSION, kind: KIND, namespace, name, uid }, text);
      return;
    }
    this.#refused.delete(resource);
    log.debug("Kept the last good revision of a RateLimitConfig", { resource, revision });
  }
}

/** The key of the RateLimitConfig that owns a revision, for mapping its events; undefined when none does. */
export function configOfRevision({ namespace, content }: KubernetesObject): ObjectKey | undefined {
  const owner = ownerOfRevision(content["metadata"]);
  return owner && { namespace, name: owner.name };
}

function isBeingDeleted({ content }: KubernetesObject): boolean {
  const metadata = content["metadata"] as Readonly<Record<string, unknown>> | undefined;
  return metadata?.["deletionTimestamp"] !== undefined;
}
