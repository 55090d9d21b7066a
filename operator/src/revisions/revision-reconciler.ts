// Keeps the last good form of each RateLimitConfig as a RateLimitConfigRevision: the last one that every
// connected pod which is sent it has ACKed.
import type { Log } from "@weir/common/log/log";
import { API_VERSION } from "@weir/crds/schema/api-version";
import {
  ownerOfRevision,
  REVISION_PLURAL,
  revisionName,
  revisionOf,
} from "@weir/crds/rate-limit-config-revision/revision";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import type { LoadedForms } from "./loaded-forms.ts";
import { OwnedRevisions } from "./owned-revisions.ts";

const [GROUP = "", VERSION = ""] = API_VERSION.split("/");

/** The kind of revisions. */
export const REVISIONS: ApiKind = { group: GROUP, version: VERSION, plural: REVISION_PLURAL };

/** Owns the fields of revisions. */
const FIELD_MANAGER = "weir-operator";

/** What the reconciler works with. */
export interface RevisionReconcilerDeps {
  readonly log: Log;
  readonly objects: Pick<ObjectWriter, "apply" | "delete">;
  /** RateLimitConfigs. */
  readonly configs: Pick<ObjectLookup, "get">;
  /** RateLimitConfigRevisions. */
  readonly revisions: Pick<ObjectLookup, "list" | "onChange">;
  readonly loaded: LoadedForms;
}

/**
 * Reconciles by the key of the RateLimitConfig: to be called when it, a revision that it owns, or what is
 * known about its loaded forms changes. Revisions of configs that are gone are left to Kubernetes,
 * which deletes them with their owner.
 */
export class RevisionReconciler implements Reconciler {
  readonly name = "ratelimitconfigrevision";
  readonly #deps: RevisionReconcilerDeps;
  readonly #owned: OwnedRevisions;
  /** The name of each spec's revision: a large spec takes a while. */
  readonly #names = new WeakMap<KubernetesObject, string>();

  constructor(deps: RevisionReconcilerDeps) {
    this.#deps = deps;
    this.#owned = new OwnedRevisions(deps.revisions);
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const { log, objects, configs, loaded } = this.#deps;
    const config = configs.get(key);
    if (config === undefined || isBeingDeleted(config)) return {};
    const { namespace, name, uid, generation } = config;
    // Only then the present form is known to be good; otherwise what was kept stays.
    if (generation === undefined || loaded.loadedGeneration(config) !== generation) return {};
    const spec = config.content["spec"];
    const wanted = this.#names.getOrInsertComputed(config, () => revisionName({ namespace, name, uid }, spec));
    const owned = this.#owned.of(config);
    if (!owned.some((revision) => revision.name === wanted)) {
      await objects.apply(
        REVISIONS,
        revisionOf({ namespace, name, uid }, spec),
        { fieldManager: FIELD_MANAGER, isForced: true },
        signal,
      );
      log.debug("Kept the last good form of a RateLimitConfig", { resource: `${namespace}/${name}`, revision: wanted });
      // Its event causes another call, which deletes the others: never before the cache has seen the new one.
      return {};
    }
    for (const old of owned) {
      if (old.name === wanted) continue;
      await objects.delete(REVISIONS, old, { uid: old.uid, propagationPolicy: "Background" }, signal);
    }
    return {};
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
