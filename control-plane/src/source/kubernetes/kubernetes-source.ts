// The source that follows the RateLimitConfigs of a Kubernetes cluster: of all namespaces, of named
// ones, or of those whose Namespace has labels.
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { API_VERSION } from "@weir/crds/rate-limit-config/schema";

import { type ClusterConnection, openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient, type ApiTimeouts } from "@weir/kubernetes/client/api-client";
import type { ApiResource } from "@weir/kubernetes/client/api-resource";
import { ProblemLog } from "@weir/kubernetes/reflector/problem-log";
import {
  NO_FAILURES,
  type ObjectSink,
  type ReflectorCounts,
  type ReflectorPace,
  ReflectorRun,
} from "@weir/kubernetes/reflector/reflector-run";

import type { Source, SourceCondition, SourceListener, SourceState } from "../source.ts";
import { ObjectStore } from "./object-store.ts";

/**
 * Waits and time limits, in milliseconds. A bookmark comes about once a minute, or somewhat later, so
 * that silence is rare. Replicas are few, so that the longest wait can be short: changes come that
 * much later than the API server.
 */
const TIMES: ReflectorPace & ApiTimeouts = {
  backoffInitialMs: 250,
  backoffMaxMs: 5000,
  slowMs: 15_000,
  answerTimeoutMs: 30_000,
  silenceTimeoutMs: 100_000,
};

/** Sent to the API server with every request. */
const USER_AGENT = "weir-control-plane";

/** The namespaces whose resources are read. */
export type NamespaceScope =
  | { readonly kind: "all" }
  | { readonly kind: "named"; readonly names: readonly string[] }
  | { readonly kind: "labelled"; readonly selector: string };

/** The cluster and its namespaces. */
export interface KubernetesSourceOptions {
  readonly connection: ClusterConnection;
  readonly scope: NamespaceScope;
  /** Shorter times, for tests. */
  readonly times?: Partial<ReflectorPace & ApiTimeouts>;
}

/** What the source works with. */
export interface KubernetesSourceDeps {
  readonly log: Log;
  readonly listener: SourceListener;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/** A source over a cluster. It sends no request before start. */
export class KubernetesSource implements Source {
  readonly name = "Kubernetes source";
  readonly #deps: KubernetesSourceDeps;
  readonly #options: KubernetesSourceOptions;
  readonly #times: ReflectorPace & ApiTimeouts;
  readonly #problems: ProblemLog;
  readonly #stores: ObjectStore[] = [];
  readonly #reflectors: ReflectorRun[] = [];
  readonly #counts: ReflectorCounts = { lists: 0, watches: 0, failures: { ...NO_FAILURES } };
  /** The namespaces with the labels; undefined when labels do not matter. */
  #labelled: Set<string> | undefined;
  #client: ApiClient | undefined;
  #state: SourceState | undefined;
  #isStopped = false;

  constructor(deps: KubernetesSourceDeps, options: KubernetesSourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#problems = new ProblemLog(deps.log, () => this.condition().syncedMs !== undefined);
  }

  get location(): string {
    const { scope } = this.#options;
    switch (scope.kind) {
      case "all":
        return "Kubernetes, all namespaces";
      case "named":
        return `Kubernetes, namespaces ${scope.names.join(", ")}`;
      case "labelled":
        return `Kubernetes, namespaces with labels ${scope.selector}`;
    }
  }

  /**
   * Resolves when everything was listed once. While the API server does not answer it waits, and
   * `condition` says why.
   */
  async start(): Promise<void> {
    const access = await openClusterAccess(this.#options.connection, this.#deps.clock);
    if (this.#isStopped) return;
    const client = new ApiClient(access, this.#times, USER_AGENT);
    this.#client = client;
    const { scope } = this.#options;
    if (scope.kind === "labelled") this.#follow(client, namespacesWith(scope.selector), this.#namespaceSink());
    for (const namespace of scope.kind === "named" ? scope.names : [undefined])
      this.#follow(client, rateLimitConfigsIn(namespace), this.#newStore());
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const reflector of this.#reflectors) reflector.stop();
    await this.#client?.close();
  }

  read(): Promise<SourceState> {
    const { problem, syncedMs } = this.condition();
    if (syncedMs === undefined) {
      const reason = problem ?? "Cannot read the cluster: not everything was listed yet";
      return Promise.reject(new ServiceError("SOURCE_UNREADABLE", reason, { transient: true }));
    }
    this.#state ??= this.#readStores();
    return Promise.resolve(this.#state);
  }

  condition(): SourceCondition {
    const conditions = this.#reflectors.map((reflector) => reflector.condition());
    const synced = conditions.flatMap(({ syncedMs }) => syncedMs ?? []);
    return {
      syncedMs: synced.length > 0 && synced.length === conditions.length ? Math.min(...synced) : undefined,
      problem: conditions.flatMap(({ problem }) => problem ?? [])[0],
    };
  }

  /** The requests since the source was made; a copy. */
  counts(): ReflectorCounts {
    return structuredClone(this.#counts);
  }

  #follow(client: ApiClient, resource: ApiResource, sink: ObjectSink): void {
    const { log, clock, random, listener } = this.#deps;
    const changed = (): void => {
      this.#state = undefined;
      listener.changed();
    };
    const shared = { problems: this.#problems, counts: this.#counts };
    const deps = { client, sink, changed, log, ...shared, clock, random };
    this.#reflectors.push(new ReflectorRun(deps, resource, this.#times));
  }

  #newStore(): ObjectStore {
    const store = new ObjectStore();
    this.#stores.push(store);
    return store;
  }

  /** Keeps the names of the Namespaces with the labels. */
  #namespaceSink(): ObjectSink {
    let names = new Set<string>();
    this.#labelled = names;
    return {
      size: () => names.size,
      replace: (objects) => {
        const before = names;
        names = new Set(objects.map(({ name }) => name));
        this.#labelled = names;
        return names.symmetricDifference(before).size > 0;
      },
      put: ({ name }) => {
        const isNew = !names.has(name);
        names.add(name);
        return isNew;
      },
      // The server sends this also for a namespace that has lost its label.
      delete: ({ name }) => names.delete(name),
    };
  }

  #readStores(): SourceState {
    const objects = this.#stores
      .flatMap((store) => store.list())
      .filter(({ namespace }) => this.#labelled === undefined || this.#labelled.has(namespace));
    return {
      resources: objects.flatMap(({ resource }) => resource ?? []),
      refusals: objects.flatMap(({ refusals }) => refusals),
    };
  }
}

/** The RateLimitConfigs of one namespace, or of all. */
function rateLimitConfigsIn(namespace: string | undefined): ApiResource {
  const [group = "", version = ""] = API_VERSION.split("/");
  return { group, version, plural: "ratelimitconfigs", namespace, labelSelector: undefined };
}

/** The Namespaces with these labels. */
function namespacesWith(labelSelector: string): ApiResource {
  return { group: "", version: "v1", plural: "namespaces", namespace: undefined, labelSelector };
}
