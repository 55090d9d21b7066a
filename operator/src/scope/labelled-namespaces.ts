// Statuses of RateLimitConfigs when the control plane serves those of namespaces with labels: in all others
// they say that nothing watches the namespace.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";

import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, Reconciler, ReconcileResult } from "../reconcile/reconciler.ts";
import { CONFIG_STATUS, type NotWatchedDeps, writeNotWatched } from "./not-watched.ts";

export const NAMESPACES: ApiKind = { group: "", version: "v1", plural: "namespaces" };

export interface LabelledNamespacesDeps extends NotWatchedDeps {
  readonly configs: Pick<ObjectLookup, "get">;
  /** The Namespaces with the labels, all of which were listed. */
  readonly namespaces: Pick<ObjectLookup, "get">;
  /** The labels, as WATCH_NAMESPACE_SELECTOR has them. */
  readonly selector: string;
  /** Reconciles RateLimitConfigs of these. */
  readonly reconciler: Reconciler;
}

/** Reconciles the RateLimitConfigs of all namespaces. */
export class LabelledNamespaces implements Reconciler {
  readonly name: string;
  readonly #deps: LabelledNamespacesDeps;

  constructor(deps: LabelledNamespacesDeps) {
    this.name = deps.reconciler.name;
    this.#deps = deps;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const { configs, namespaces, selector, reconciler } = this.#deps;
    const object = configs.get(key);
    if (object === undefined || namespaces.get({ namespace: "", name: key.namespace }) !== undefined)
      return await reconciler.reconcile(key, signal);
    const message = `Weir does not watch this namespace: its labels are not those of WATCH_NAMESPACE_SELECTOR, ${selector}`;
    const text = { reason: "NamespaceNotSelected", message } as const;
    await writeNotWatched(this.#deps, CONFIG_STATUS, object, { text, signal });
    return {};
  }
}
