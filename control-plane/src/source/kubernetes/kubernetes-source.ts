// The source that follows the RateLimitConfigs of a Kubernetes cluster: of all namespaces, of named
// ones, or of those whose Namespace has labels.
import { ServiceError } from "@weir/common/errors/service-error";
import { Listeners } from "@weir/common/lifecycle/listeners";
import type { Log } from "@weir/common/log/log";
import { API_VERSION } from "@weir/crds/rate-limit-config/schema/schema";

import { type ClusterConnection, openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient, type ApiTimeouts } from "@weir/kubernetes/client/api-client";
import { type ApiResource, describeResource } from "@weir/kubernetes/client/api-resource";
import { ProblemLog } from "@weir/kubernetes/reflector/problem-log";
import {
  NO_FAILURES,
  type ObjectSink,
  type ReflectorCounts,
  type ReflectorDeps,
  type ReflectorPace,
  ReflectorRun,
} from "@weir/kubernetes/reflector/reflector-run";
import { REPLICA_TIMES } from "@weir/kubernetes/reflector/replica-times";

import { NAMESPACE_RESOURCES_MAX } from "../bound-namespaces.ts";
import type { Source, SourceCondition, SourceState } from "../source.ts";
import { DEFINITION, DefinitionState } from "./definition-state.ts";
import { LastGoodRevisions } from "./last-good-revisions.ts";
import { ObjectStore } from "./object-store.ts";
import { VanishedObjects } from "./vanished-objects.ts";

/** Longest wait until the watch of the definition is tried again without the right to, in milliseconds. */
const DEFINITION_SLOW_MS = 60_000;

/**
 * Longest wait until the definition is read again after a failure, in milliseconds: that must not come
 * long after the removal of what vanished with it.
 */
const DEFINITION_BACKOFF_MS = 1000;

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
  /**
   * How long, without a change, resources that vanished with their CustomResourceDefinition are
   * served after that is back, in milliseconds.
   */
  readonly keepVanishedMs: number;
  /** Shorter times, for tests. */
  readonly times?: Partial<ReflectorPace & ApiTimeouts>;
  /** A shorter wait for last good revisions at start, for tests. */
  readonly lastGoodWaitMs?: number;
  /** Fewer resources of one namespace than usual, for tests. */
  readonly namespaceResourcesMax?: number;
}

export interface KubernetesSourceDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/** A source over a cluster. It sends no request before start. */
export class KubernetesSource implements Source {
  readonly name = "Kubernetes source";
  readonly #deps: KubernetesSourceDeps;
  readonly #listeners = new Listeners();
  readonly #options: KubernetesSourceOptions;
  readonly #times: ReflectorPace & ApiTimeouts;
  readonly #problems: ProblemLog;
  readonly #stores: ObjectStore[] = [];
  readonly #reflectors: ReflectorRun[] = [];
  readonly #counts: ReflectorCounts = newCounts();
  readonly #definition: DefinitionState;
  readonly #vanished: VanishedObjects;
  readonly #lastGood: LastGoodRevisions;
  /** Follows the definition. */
  #definitionReflector: ReflectorRun | undefined;
  /** The namespaces with the labels; undefined when labels do not matter. */
  #labelled: Set<string> | undefined;
  #client: ApiClient | undefined;
  #state: SourceState | undefined;
  #isStopped = false;

  constructor(deps: KubernetesSourceDeps, options: KubernetesSourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#times = { ...REPLICA_TIMES, ...options.times };
    const { log, clock } = deps;
    this.#problems = new ProblemLog(log, () => this.condition().syncedMs !== undefined);
    const isReadable = (): boolean => this.condition().problem === undefined;
    const changed = (): void => this.#changed();
    this.#vanished = new VanishedObjects({ log, clock, isReadable, changed }, options.keepVanishedMs);
    this.#lastGood = new LastGoodRevisions(log, options.lastGoodWaitMs);
    this.#definition = new DefinitionState({ log, changed: (isDefined) => this.#define(isDefined) });
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
   * Resolves when everything was listed once, last good revisions only if that takes not too long. While the
   * API server does not answer it waits, and `condition` says why.
   */
  async start(): Promise<void> {
    const access = await openClusterAccess(this.#options.connection, this.#deps.clock);
    if (this.#isStopped) return;
    const client = new ApiClient(access, this.#times, {
      userAgent: USER_AGENT,
      slow: ({ resource }, slow) => {
        if (resource !== DEFINITION) this.#problems.slow(describeResource(resource), slow);
      },
    });
    this.#client = client;
    const { scope } = this.#options;
    if (scope.kind === "labelled") this.#follow(client, namespacesWith(scope.selector), this.#namespaceSink());
    for (const namespace of scope.kind === "named" ? scope.names : [undefined])
      this.#followConfigs(client, rateLimitConfigsIn(namespace));
    this.#followDefinition(client);
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced));
    await this.#lastGood.wait();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const reflector of this.#reflectors) reflector.stop();
    this.#definitionReflector?.stop();
    this.#lastGood.stop();
    this.#vanished.stop();
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

  onChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  condition(): SourceCondition {
    const conditions = this.#reflectors.map((reflector) => reflector.condition());
    const synced = conditions.flatMap(({ syncedMs }) => syncedMs ?? []);
    return {
      syncedMs: synced.length > 0 && synced.length === conditions.length ? Math.min(...synced) : undefined,
      problem: conditions.flatMap(({ problem }) => problem ?? [])[0] ?? this.#definition.problem(),
    };
  }

  hasRevisions(): boolean {
    return this.#lastGood.isReadable();
  }

  /** The requests since the source was made, a copy; and whether last good revisions can be read. */
  counts(): ReflectorCounts & { readonly readsLastGood: boolean } {
    return { ...structuredClone(this.#counts), readsLastGood: this.hasRevisions() };
  }

  /** Follows some RateLimitConfigs with a store of their own. */
  #followConfigs(client: ApiClient, resource: ApiResource): void {
    const store = new ObjectStore(this.#options.namespaceResourcesMax ?? NAMESPACE_RESOURCES_MAX, {
      appeared: (objects) => this.#vanished.appeared(objects),
      removed: (objects) => this.#vanished.removed(objects),
      listed: () => this.#definition.listed(resource),
    });
    this.#stores.push(store);
    this.#follow(client, resource, store, (failure) => this.#definition.failed(resource, failure));
    this.#lastGood.follow(this.#sharedDeps(client), resource, this.#times);
  }

  #follow(client: ApiClient, resource: ApiResource, sink: ObjectSink, failed?: ReflectorDeps["failed"]): void {
    const deps = { ...this.#sharedDeps(client), sink, problems: this.#problems, counts: this.#counts };
    this.#reflectors.push(new ReflectorRun({ ...deps, ...(failed && { failed }) }, resource, this.#times));
  }

  /** The watch is optional: it is neither counted nor waited for. */
  #followDefinition(client: ApiClient): void {
    const deps = { ...this.#sharedDeps(client), ...this.#definition.reflectorParts(), counts: newCounts() };
    const slowMs = this.#options.times?.slowMs ?? DEFINITION_SLOW_MS;
    const backoffMaxMs = Math.min(this.#times.backoffMaxMs, DEFINITION_BACKOFF_MS);
    this.#definitionReflector = new ReflectorRun(deps, DEFINITION, { ...this.#times, backoffMaxMs, slowMs });
  }

  #sharedDeps(client: ApiClient): Pick<ReflectorDeps, "client" | "changed" | "log" | "clock" | "random"> {
    const { log, clock, random } = this.#deps;
    return { client, changed: () => this.#changed(), log, clock, random };
  }

  #changed(): void {
    this.#state = undefined;
    this.#listeners.notify();
  }

  #define(isDefined: boolean): void {
    const { log } = this.#deps;
    const isBroughtBack = this.#vanished.define(isDefined);
    const resources = this.#stores.flatMap((store) => store.list()).length;
    const vanished = this.#vanished.list().length;
    // Before the first installation nothing can vanish.
    if (resources + vanished > 0) {
      const event = isDefined ? "is back" : "is gone or being deleted, what vanishes with it stays active";
      log.warn(`The CustomResourceDefinition ${event}`, { name: DEFINITION.name, resources, vanished });
    }
    if (isBroughtBack) this.#changed();
  }

  /** Keeps the names of the Namespaces with the labels. */
  #namespaceSink(): ObjectSink {
    let names = new Set<string>();
    let listed = new Set<string>();
    this.#labelled = names;
    return {
      take: ({ objects, isFirst, isLast }) => {
        if (isFirst) listed = new Set();
        for (const { name } of objects) listed.add(name);
        if (!isLast) return false;
        const before = names;
        this.#labelled = names = listed;
        return names.symmetricDifference(before).size > 0;
      },
      put: ({ name }) => {
        const isNew = !names.has(name);
        names.add(name);
        return isNew;
      },
      // The server sends this also for a namespace that has lost its label.
      delete: ({ name }) => names.delete(name),
      needsList: () => false,
    };
  }

  #readStores(): SourceState {
    const isRead = (namespace: string): boolean => this.#labelled === undefined || this.#labelled.has(namespace);
    const stored = this.#stores.flatMap((store) => store.list());
    const objects = [...stored, ...this.#vanished.list()]
      .filter(({ namespace }) => isRead(namespace))
      .map((object) => this.#lastGood.complete(object));
    const excess = this.#stores.flatMap((store) => store.refusals(isRead));
    return {
      resources: objects.flatMap(({ resource }) => resource ?? []),
      refusals: [...objects.flatMap(({ refusals }) => refusals), ...excess],
    };
  }
}

function newCounts(): ReflectorCounts {
  return { lists: 0, watches: 0, failures: { ...NO_FAILURES } };
}

function rateLimitConfigsIn(namespace: string | undefined): ApiResource {
  const [group = "", version = ""] = API_VERSION.split("/");
  return { group, version, plural: "ratelimitconfigs", namespace, labelSelector: undefined };
}

/** The Namespaces with these labels. */
function namespacesWith(labelSelector: string): ApiResource {
  return { group: "", version: "v1", plural: "namespaces", namespace: undefined, labelSelector };
}
