// Reconciles RateLimitServices: from the resource to its objects, and from these to its status and events.
import { isDeepStrictEqual } from "node:util";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import {
  parseRateLimitService,
  type RateLimitServiceResource,
  type RateLimitServiceStatus,
  SERVICE_KIND,
} from "@weir/crds/rate-limit-service/schema/schema";
import { checkEnvironment } from "@weir/crds/rate-limit-service/settings/check-environment";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import { fieldsOf, mappingsOf } from "@weir/kubernetes/mapping";

import { readService } from "../certificates/read-service.ts";
import type { EventRecorder, EventText } from "../events/event-recorder.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, ReconcileResult, Reconciler } from "../reconcile/reconciler.ts";
import { fleetConflict } from "./fleet-conflict.ts";
import { needsOf } from "./needs.ts";
import { MANAGER } from "../leader/managed-by.ts";
import { apiVersionOf, type OwnedKindName, RATE_LIMIT_SERVICES } from "./objects/owned-kinds.ts";
import { INSTANCE_LABEL, selectorOf, type Workload, type WorkloadOptions, workloadOf } from "./objects/workload.ts";
import { hasLabels, isEnding, isReadyPod, labelOf } from "./pods.ts";
import { replicasOf, WorkloadObjects, type WorkloadOutcome } from "./workload-objects.ts";
import { workloadStatus, type WorkloadProblem } from "./workload-status.ts";

/**
 * When a resource is looked at again, in milliseconds: connections come and go without a change of any
 * object. Sooner while something is missing.
 */
const AGAIN_MS = { settled: 30_000, unsettled: 2_000 } as const;

/**
 * How long a status stays as it is while the connections of pods are not known, in milliseconds: a new leader
 * has read the reports of all replicas of the control plane, or found some silent, after ten seconds.
 */
const REPORTS_AWAITED_MS = 11_000;

/**
 * The finalizer by which Kubernetes keeps what an object owns when a deletion does not say otherwise. kubectl, Helm, GitOps
 * tools and the end of a namespace say otherwise; the API server does not when it deletes all objects of a
 * deleted definition.
 */
const ORPHAN_FINALIZER = "orphan";

/** Says which pods are connected to the control plane. */
export interface PodConnections {
  /**
   * Those of the named pods that are connected as pods of the fleet; undefined: not known, because a
   * replica of the control plane does not answer to which one of the ready pods may be connected.
   */
  connectedPods(
    workload: Pick<Workload, "namespace" | "fleet">,
    pods: { readonly names: readonly string[]; readonly ready: readonly string[] },
  ): ReadonlySet<string> | undefined;
}

/** Objects that concern resources. */
export interface WorkloadSource {
  readonly objects: ObjectLookup;
  readonly keysOf: (object: KubernetesObject) => readonly ObjectKey[];
}

export interface WorkloadReconcilerDeps {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  readonly objects: ObjectWriter & Pick<ObjectClient, "get">;
  readonly services: ObjectLookup;
  /** The objects and pods with the label `app.kubernetes.io/managed-by: weir-operator`, by kind. */
  readonly owned: Readonly<Record<OwnedKindName, ObjectLookup>>;
  readonly pods: ObjectLookup;
  readonly connections: PodConnections;
  /** `<namespace>/<name>` of Secrets with names of the operator's that are not its own. */
  readonly foreignSecrets: ReadonlySet<string>;
  readonly events: Pick<EventRecorder, "record">;
}

/** Keeps the objects and statuses of RateLimitServices. */
export class WorkloadReconciler implements Reconciler, Part {
  readonly name = "ratelimitservice";
  readonly #deps: WorkloadReconcilerDeps;
  readonly #options: WorkloadOptions;
  readonly #objects: WorkloadObjects;
  /** By `<namespace>/<name>`; the same object while the spec is, because what is rendered of it is kept with it. */
  readonly #workloads = new Map<string, { readonly generation: number | undefined; readonly workload: Workload }>();
  /** Since when the connections of pods are not known. */
  #silentSinceMs: number | undefined;

  constructor(deps: WorkloadReconcilerDeps, options: WorkloadOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#objects = new WorkloadObjects(deps);
  }

  /** Forgets what it knew while this process was the leader before. */
  start(): void {
    this.#silentSinceMs = undefined;
  }

  /** Objects of other kinds, and of its own, whose changes concern its resources, and which these are. */
  sources(): readonly WorkloadSource[] {
    const { services, owned, pods } = this.#deps;
    return [
      { objects: services, keysOf: (object) => this.#rivalsOf(object) },
      // By their label, which also those have that have lost their owner.
      ...[...new Set(Object.values(owned)), pods].map((objects) => ({ objects, keysOf: instanceOf })),
    ];
  }

  /** Brings one resource's objects and status into the state that is wanted. Fails with ApiFailure. */
  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#deps.services.get(key);
    // Kubernetes deletes what belongs to a deleted resource.
    if (object === undefined || isEnding(object)) {
      this.#workloads.delete(textOfKey(key));
      return {};
    }
    const parsed = parseRateLimitService(object.content, { unknownFields: "ignore" });
    if (!parsed.ok) return {}; // The API server has checked it by another schema; nothing is known to be right.
    const { resource } = parsed;
    const workload = this.#workloadOf(object, resource);
    let problem = this.#problemOf(object, resource);
    let deployment = this.#objects.deploymentOf(workload);
    let refusal: ApiFailure | undefined;
    if (problem === undefined) {
      const outcome = await this.#ensure(workload, signal);
      if (outcome instanceof ApiFailure) {
        refusal = outcome;
        problem = { reason: "Refused", message: refusal.message };
      } else if (outcome.kind === "written") {
        deployment = outcome.deployment;
        this.#recordScaling(object, outcome);
      } else if (outcome.kind === "gone") {
        return {}; // The cache will say so.
      } else {
        const message = `${outcome.taken} exists and belongs to another owner: delete it, or rename this resource`;
        problem = { reason: "NameTaken", message };
      }
    }
    const status = this.#statusOf(workload, resource, { deployment, problem });
    if (status === undefined) return { againAfterMs: AGAIN_MS.unsettled };
    await this.#writeStatus(object, resource.status, status, signal);
    await this.#keepWhatItOwns(object, signal);
    // The status says why; it is tried again less and less often.
    if (refusal !== undefined) throw refusal;
    const isReady = status.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    return { againAfterMs: isReady ? AGAIN_MS.settled : AGAIN_MS.unsettled };
  }

  #workloadOf(object: KubernetesObject, resource: RateLimitServiceResource): Workload {
    const { uid, generation } = object;
    const known = this.#workloads.get(textOfKey(object));
    if (generation !== undefined && known?.generation === generation && known.workload.uid === uid)
      return known.workload;
    const workload = workloadOf(resource, uid, this.#options);
    this.#workloads.set(textOfKey(object), { generation, workload });
    return workload;
  }

  /** The failure when the API server refuses an object, or the account lacks a right; other failures are thrown. */
  async #ensure(workload: Workload, signal: AbortSignal): Promise<WorkloadOutcome | ApiFailure> {
    try {
      return await this.#objects.ensure(workload, signal);
    } catch (error) {
      if (error instanceof ApiFailure && error.isRefusal) return error;
      throw error;
    }
  }

  #problemOf(object: KubernetesObject, { spec }: RateLimitServiceResource): WorkloadProblem | undefined {
    const [first] = checkEnvironment(spec).problems;
    if (first !== undefined) return { reason: "InvalidSpec", message: `${first.path.join(".")}: ${first.message}` };
    const message = fleetConflict(object, this.#deps.services.list());
    return message === undefined ? undefined : { reason: "FleetConflict", message };
  }

  /** Undefined: what is written stays until the reports of the control plane are read. */
  #statusOf(
    workload: Workload,
    resource: RateLimitServiceResource,
    { deployment, problem }: { deployment: KubernetesObject | undefined; problem: WorkloadProblem | undefined },
  ): RateLimitServiceStatus | undefined {
    const { clock, connections, foreignSecrets } = this.#deps;
    const pods = this.#podsOf(workload);
    const namesOf = (some: readonly KubernetesObject[]): readonly string[] => some.map(({ name }) => name);
    const readyPods = namesOf(pods.filter((pod) => isReadyPod(pod)));
    const connected = connections.connectedPods(workload, { names: namesOf(pods), ready: readyPods });
    if (this.#awaitsReports(connected !== undefined) && resource.status?.conditions !== undefined) return undefined;
    const facts = {
      ...needsOf(workload, foreignSecrets),
      generation: resource.metadata.generation ?? 0,
      fleet: workload.fleet,
      selector: selectorText(workload),
      deployment,
      pods,
      readyPods,
      connected,
      problem,
    };
    return workloadStatus(facts, resource.status, clock());
  }

  #awaitsReports(isKnown: boolean): boolean {
    const nowMs = this.#deps.monotonicMs();
    this.#silentSinceMs = isKnown ? undefined : (this.#silentSinceMs ?? nowMs);
    return this.#silentSinceMs !== undefined && nowMs - this.#silentSinceMs < REPORTS_AWAITED_MS;
  }

  #podsOf({ namespace, name }: Workload): readonly KubernetesObject[] {
    const labels = selectorOf({ name });
    return this.#deps.pods.list(namespace).filter((pod) => hasLabels(pod, labels));
  }

  /** So that a deleted definition ends no data plane: the resource that is made again takes over what is there. */
  async #keepWhatItOwns(object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { finalizers, ownerReferences } = fieldsOf(object.content["metadata"]);
    if (Array.isArray(finalizers) && finalizers.includes(ORPHAN_FINALIZER)) return;
    // Garbage collection heeds the finalizer: what an owner of the resource owns goes with that owner.
    if (mappingsOf(ownerReferences).length > 0) return;
    try {
      await this.#apply(object, { metadata: { finalizers: [ORPHAN_FINALIZER] } }, undefined, signal);
    } catch (error) {
      if (!(error instanceof ApiFailure && error.isRefusal)) throw error;
      const note = `a deletion of the definition would end this data plane: ${error.message}`;
      this.#record(object, { type: "Warning", reason: "NotProtected", action: "Reconcile", note });
    }
  }

  async #writeStatus(
    object: KubernetesObject,
    before: RateLimitServiceStatus | undefined,
    status: RateLimitServiceStatus,
    signal: AbortSignal,
  ): Promise<void> {
    if (isDeepStrictEqual(before, status)) return;
    if (await this.#apply(object, { status }, "status", signal)) this.#recordProblem(object, before, status);
  }

  /** Resolves to true if it was written: only to the version that is given, because a later reconcile knows more. */
  async #apply(
    { name, namespace, uid, resourceVersion }: KubernetesObject,
    { metadata, ...content }: { readonly metadata?: object; readonly status?: RateLimitServiceStatus },
    subresource: "status" | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const written = {
      apiVersion: apiVersionOf(RATE_LIMIT_SERVICES),
      kind: SERVICE_KIND,
      // With the UID a deleted object is a conflict, too.
      metadata: { ...metadata, name, namespace, uid, resourceVersion },
      ...content,
    };
    const options = { fieldManager: MANAGER, isForced: true, ...(subresource !== undefined && { subresource }) };
    try {
      await this.#deps.objects.apply(RATE_LIMIT_SERVICES, written, options, signal);
      return true;
    } catch (error) {
      // Its change brings it here again.
      if (error instanceof ApiFailure && error.kind === "conflict") return false;
      throw error;
    }
  }

  #recordProblem(
    object: KubernetesObject,
    before: RateLimitServiceStatus | undefined,
    after: RateLimitServiceStatus,
  ): void {
    const degradedIn = (status: RateLimitServiceStatus | undefined) =>
      status?.conditions?.find(({ type, status: state }) => type === "Degraded" && state === "True");
    const [past, present] = [degradedIn(before), degradedIn(after)];
    if (present === undefined || past?.reason === present.reason) return;
    const { reason, message } = present;
    this.#record(object, { type: "Warning", reason, action: "Reconcile", note: message });
  }

  #recordScaling(
    object: KubernetesObject,
    { before, deployment }: { readonly before: KubernetesObject | undefined; readonly deployment: KubernetesObject },
  ): void {
    const [from, to] = [before && replicasOf(before), replicasOf(deployment)];
    if (from === undefined || from === to) return;
    const note = `from ${from} to ${to} pods`;
    this.#record(object, { type: "Normal", reason: "Scaled", action: "Scale", note });
  }

  #record({ name, namespace, uid }: KubernetesObject, event: EventText): void {
    const regarding = { apiVersion: apiVersionOf(RATE_LIMIT_SERVICES), kind: SERVICE_KIND, name, namespace, uid };
    this.#deps.events.record(regarding, event);
  }

  /** The other resources that name the same fleet: its owner may be another one now. */
  #rivalsOf(object: KubernetesObject): readonly ObjectKey[] {
    const { fleet } = readService(object);
    return this.#deps.services.list().filter((other) => other.uid !== object.uid && readService(other).fleet === fleet);
  }
}

function textOfKey({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function instanceOf(object: KubernetesObject): readonly ObjectKey[] {
  const name = labelOf(object, INSTANCE_LABEL);
  return name === undefined ? [] : [{ namespace: object.namespace, name }];
}

function selectorText(workload: Workload): string {
  return Object.entries(selectorOf(workload))
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
}
