// The source that follows the RateLimitConfigs of a Kubernetes cluster: of all namespaces, of some
// by name, or of those whose Namespace bears labels. Puts reflectors and memories together; what
// they do stands in their own files.
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

import type { Source, SourceCondition, SourceListener, SourceState } from "../source.ts";
import { type ApiClient, type ApiClientOptions, createApiClient } from "@weir/kubernetes/api-client";
import type { FailureKind } from "@weir/kubernetes/api-failure";
import { namespacesWith, rateLimitConfigsIn } from "@weir/kubernetes/api-resource";
import { type ClusterConnection, openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { createObjectMemory, type ObjectMemory } from "./object-memory.ts";
import { createProblemLog, type ProblemLog } from "@weir/kubernetes/problem-log";
import {
  type ObjectSink,
  type ReflectorPace,
  runReflector,
  type RunningReflector,
} from "@weir/kubernetes/reflector/reflector-run";

/**
 * Waits and watchdogs, in milliseconds. A bookmark comes about once a minute, or somewhat later, so
 * that silence is rare. Replicas are few, so that the longest wait can be short: it is how much
 * later than the API server the changes come back.
 */
const TIMES: ReflectorPace & ApiClientOptions = {
  backoffInitialMs: 250,
  backoffMaxMs: 5000,
  slowMs: 15_000,
  answerTimeoutMs: 30_000,
  silenceTimeoutMs: 100_000,
};

/** Which namespaces count. */
export type NamespaceScope =
  | { readonly kind: "all" }
  | { readonly kind: "named"; readonly names: readonly string[] }
  | { readonly kind: "labelled"; readonly selector: string };

/** Which cluster and what of it. */
export interface KubernetesSourceOptions {
  readonly connection: ClusterConnection;
  readonly scope: NamespaceScope;
  /** Shorter times, for tests. */
  readonly times?: Partial<ReflectorPace & ApiClientOptions>;
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

/** What the source has done, since it was made. */
export interface KubernetesSourceCounts {
  readonly lists: number;
  readonly watches: number;
  readonly failures: Readonly<Record<FailureKind, number>>;
}

/** A source over a cluster. */
export interface KubernetesSource extends Source {
  /** A copy of the numbers at this moment. */
  counts(): KubernetesSourceCounts;
}

/** Makes the source. Nothing is asked before start. */
export function createKubernetesSource(deps: KubernetesSourceDeps, options: KubernetesSourceOptions): KubernetesSource {
  return new ClusterSource(deps, options);
}

class ClusterSource implements KubernetesSource {
  readonly name = "Kubernetes source";
  readonly #deps: KubernetesSourceDeps;
  readonly #options: KubernetesSourceOptions;
  readonly #times: ReflectorPace & ApiClientOptions;
  readonly #problems: ProblemLog;
  readonly #memories: ObjectMemory[] = [];
  readonly #reflectors: RunningReflector[] = [];
  readonly #counts = {
    lists: 0,
    watches: 0,
    failures: { unreachable: 0, unavailable: 0, expired: 0, refused: 0, unauthorized: 0, broken: 0, "too-large": 0 },
  };
  /** The namespaces that bear the labels; undefined when labels do not matter. */
  #labelled: Set<string> | undefined;
  #client: ApiClient | undefined;
  #state: SourceState | undefined;
  #isStopped = false;

  constructor(deps: KubernetesSourceDeps, options: KubernetesSourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#problems = createProblemLog({ log: deps.log, isServing: () => this.condition().syncedMs !== undefined });
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
   * Resolves when everything was listed once; while the API server is away it waits, and
   * `condition` tells why.
   */
  async start(): Promise<void> {
    const access = await openClusterAccess(this.#options.connection, this.#deps.clock);
    if (this.#isStopped) return;
    const client = createApiClient(access, this.#times);
    this.#client = client;
    const { scope } = this.#options;
    if (scope.kind === "labelled") this.#follow(client, namespacesWith(scope.selector), this.#namespaceSink());
    for (const namespace of scope.kind === "named" ? scope.names : [undefined]) {
      this.#follow(client, rateLimitConfigsIn(namespace), this.#objectSink());
    }
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
  }

  stop(): void {
    this.#isStopped = true;
    for (const reflector of this.#reflectors) reflector.stop();
    this.#client?.close();
  }

  read(): Promise<SourceState> {
    const { problem, syncedMs } = this.condition();
    if (syncedMs === undefined) {
      const reason = problem ?? "Cannot read the cluster: not everything was listed yet";
      return Promise.reject(new ServiceError("SOURCE_UNREADABLE", reason, { transient: true }));
    }
    this.#state ??= this.#readMemories();
    return Promise.resolve(this.#state);
  }

  condition(): SourceCondition {
    const conditions = this.#reflectors.map((reflector) => reflector.condition());
    const isSynced = conditions.length > 0 && conditions.every((condition) => condition.isSynced);
    const problems = conditions.flatMap(({ problem }) => problem ?? []);
    return {
      syncedMs: isSynced ? Math.min(...conditions.map(({ syncedMs }) => syncedMs ?? 0)) : undefined,
      problem: problems[0],
    };
  }

  counts(): KubernetesSourceCounts {
    return { ...this.#counts, failures: { ...this.#counts.failures } };
  }

  #follow(client: ApiClient, resource: Parameters<typeof runReflector>[1], sink: ObjectSink): void {
    const { log, clock, random } = this.#deps;
    const counts = this.#counts;
    const counters = {
      listed: () => (counts.lists += 1),
      watched: () => (counts.watches += 1),
      failed: (kind: FailureKind) => (counts.failures[kind] += 1),
    };
    const problems = this.#problems;
    this.#reflectors.push(
      runReflector({ client, sink, log, problems, clock, random, counters }, resource, this.#times),
    );
  }

  #objectSink(): ObjectSink {
    const memory = createObjectMemory();
    this.#memories.push(memory);
    return {
      size: () => memory.size(),
      replace: (objects) => this.#note(memory.replace(objects)),
      put: (object) => this.#note(memory.put(object)),
      delete: (object) => this.#note(memory.delete(object)),
    };
  }

  #namespaceSink(): ObjectSink {
    let names = new Set<string>();
    this.#labelled = names;
    return {
      size: () => names.size,
      replace: (objects) => {
        const before = names;
        names = new Set(objects.map(({ name }) => name));
        this.#labelled = names;
        this.#note(names.symmetricDifference(before).size > 0);
      },
      put: ({ name }) => {
        const isNew = !names.has(name);
        names.add(name);
        this.#note(isNew);
      },
      // The server tells this, too, of a namespace that has lost its label.
      delete: ({ name }) => this.#note(names.delete(name)),
    };
  }

  #note(isChanged: boolean): void {
    if (!isChanged) return;
    this.#state = undefined;
    this.#deps.listener.changed();
  }

  #readMemories(): SourceState {
    const objects = this.#memories
      .flatMap((memory) => memory.list())
      .filter(({ namespace }) => this.#labelled === undefined || this.#labelled.has(namespace));
    return {
      resources: objects.flatMap(({ resource }) => resource ?? []),
      refusals: objects.flatMap(({ refusals }) => refusals),
    };
  }
}
