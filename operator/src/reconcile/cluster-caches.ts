// Follows kinds of objects of the cluster, each with a cache that all parts share.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { ApiClient } from "@weir/kubernetes/client/api-client";
import { type ApiKind, describeResource, resourceOf } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { ProblemLog } from "@weir/kubernetes/reflector/problem-log";
import {
  NO_FAILURES,
  type ReflectorDeps,
  type ReflectorPace,
  ReflectorRun,
} from "@weir/kubernetes/reflector/reflector-run";

import { ObjectCache, type ObjectListener, type ObjectLookup } from "./object-cache.ts";
import type { ObjectKey } from "./reconciler.ts";

/** Which objects of a kind are followed. */
export interface FollowOptions {
  /** The namespaces; undefined: all, or the kind has none. */
  readonly namespaces?: readonly string[] | undefined;
  /** Only objects with these labels, written as for kubectl --selector. */
  readonly labelSelector?: string;
  /**
   * True if `metadata.managedFields` is dropped, which often is larger than the rest of an object: for
   * kinds with thousands of objects.
   */
  readonly isWithoutManagers?: boolean;
  /** True if the operator works without the kind, or without the right to read it. */
  readonly isOptional?: boolean;
}

export interface ClusterCachesDeps extends Pick<ReflectorDeps, "client" | "log" | "clock" | "random"> {
  readonly client: Pick<ApiClient, "list" | "watch">;
  readonly log: Log;
}

/** One kind in one namespace, or in all. */
interface Followed {
  readonly resource: ReturnType<typeof resourceOf>;
  readonly cache: ObjectCache;
  readonly isOptional: boolean;
}

/** The caches of one process. Kinds are added before start. */
export class ClusterCaches implements Part {
  readonly name = "caches of the cluster";
  readonly #deps: ClusterCachesDeps;
  readonly #pace: ReflectorPace;
  readonly #problems: ProblemLog;
  readonly #followed: Followed[] = [];
  readonly #required: ReflectorRun[] = [];
  readonly #optional: ReflectorRun[] = [];
  #isStopped = false;

  constructor(deps: ClusterCachesDeps, pace: ReflectorPace) {
    this.#deps = deps;
    this.#pace = pace;
    this.#problems = new ProblemLog(deps.log, () => this.notSynced() === undefined);
  }

  /** A cache of these objects, which is filled from start on. */
  follow(
    kind: ApiKind,
    { namespaces, labelSelector, isWithoutManagers = false, isOptional = false }: FollowOptions = {},
  ): ObjectLookup {
    const caches = new Map<string | undefined, ObjectCache>();
    for (const namespace of namespaces ?? [undefined]) {
      const cache = new ObjectCache({ isWithoutManagers });
      caches.set(namespace, cache);
      this.#followed.push({ resource: { ...resourceOf(kind, namespace), labelSelector }, cache, isOptional });
    }
    return caches.get(undefined) ?? joined(caches);
  }

  /** Resolves when all kinds that are not optional were listed once. */
  async start(): Promise<void> {
    if (this.#isStopped) return;
    for (const followed of this.#followed) {
      const runs = followed.isOptional ? this.#optional : this.#required;
      runs.push(this.#run(followed));
    }
    await Promise.all(this.#required.map((run) => run.synced));
  }

  stop(): void {
    this.#isStopped = true;
    for (const run of [...this.#required, ...this.#optional]) run.stop();
  }

  /** Why not everything was listed yet; undefined when it was. */
  notSynced(): string | undefined {
    const conditions = this.#required.map((run) => run.condition());
    if (conditions.length > 0 && conditions.every(({ syncedMs }) => syncedMs !== undefined)) return undefined;
    return conditions.flatMap(({ problem }) => problem ?? [])[0] ?? "reading";
  }

  #run({ resource, cache, isOptional }: Followed): ReflectorRun {
    const { client, log, clock, random } = this.#deps;
    const what = describeResource(resource);
    const optional: ReflectorDeps["problems"] = {
      failed: (_, failure) => log.debug("Cannot follow an optional kind", { resource: what, error: failure }),
      following: () => log.debug("Following an optional kind", { resource: what }),
    };
    return new ReflectorRun(
      {
        client,
        sink: cache,
        changed: () => undefined, // Listeners of the cache know more.
        log,
        problems: isOptional ? optional : this.#problems,
        counts: { lists: 0, watches: 0, failures: { ...NO_FAILURES } },
        clock,
        random,
        failed: ({ isKindMissing }) => {
          // A required kind that is missing is a fault, not the end of all its objects.
          if (isKindMissing && isOptional) cache.kindIsMissing();
        },
      },
      resource,
      this.#pace,
    );
  }
}

/** The caches of several namespaces as one. */
function joined(caches: ReadonlyMap<string | undefined, ObjectCache>): ObjectLookup {
  return {
    get: (key: ObjectKey) => caches.get(key.namespace)?.get(key),
    list: (namespace?: string): readonly KubernetesObject[] =>
      namespace === undefined
        ? [...caches.values()].flatMap((cache) => cache.list())
        : (caches.get(namespace)?.list() ?? []),
    isListed: () => [...caches.values()].every((cache) => cache.isListed()),
    onChange: (listener: ObjectListener) => {
      for (const cache of caches.values()) cache.onChange(listener);
    },
  };
}
