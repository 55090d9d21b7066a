// Brings the objects of one workload into the state that is wanted: writes what differs, deletes what is
// not wanted any more, and touches nothing that belongs to others.
import { SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { API_VERSION } from "@weir/crds/schema/api-version";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient, ObjectWriter, WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";

import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey } from "../reconcile/reconciler.ts";
import { hasAsRendered } from "./drift.ts";
import {
  apiVersionOf,
  OWNED_KINDS,
  ownedName,
  type OwnedKindName,
  RATE_LIMIT_SERVICES,
} from "./objects/owned-kinds.ts";
import { type RenderedObject, renderWorkload } from "./objects/render-workload.ts";
import { MANAGED_LABEL, MANAGER } from "../leader/managed-by.ts";
import { podBounds, selectorOf, type Workload } from "./objects/workload.ts";
import { hasLabels, isEnding } from "./pods.ts";

/**
 * Field manager that owns the replicas of an autoscaled Deployment until the autoscaler sets them. When
 * the operator alone had them, leaving them out would set them to 1.
 */
const REPLICAS_MANAGER = `${MANAGER}-replicas`;

export interface WorkloadObjectsDeps {
  readonly objects: ObjectWriter & Pick<ObjectClient, "get">;
  /** Objects with the label of the operator. */
  readonly owned: Readonly<Record<OwnedKindName, ObjectLookup>>;
}

/** The result of writing the objects of a workload. */
export type WorkloadOutcome =
  | {
      readonly kind: "written";
      readonly deployment: KubernetesObject;
      /** The Deployment as it was before. */
      readonly before: KubernetesObject | undefined;
    }
  /** An object of another owner has the name; nothing that comes after it was written, unless that is the headless Service. */
  | { readonly kind: "name-taken"; readonly taken: string }
  /** The resource is deleted, or about to be, and its objects have no owner any more; nothing else was written. */
  | { readonly kind: "gone" };

/** Writes the objects of workloads. */
export class WorkloadObjects {
  readonly #deps: WorkloadObjectsDeps;
  readonly #rendered = new WeakMap<Workload, readonly RenderedObject[]>();
  /** The rendered object that each object of the caches was found to match. */
  readonly #asRendered = new WeakMap<KubernetesObject, WrittenObject>();

  constructor(deps: WorkloadObjectsDeps) {
    this.#deps = deps;
  }

  /** The Deployment of a workload, if it is its own. */
  deploymentOf(workload: Workload): KubernetesObject | undefined {
    const found = this.#deps.owned.deployment.get(workload);
    return found !== undefined && isOwn(found, workload) ? found : undefined;
  }

  /** Writes what differs. Fails with ApiFailure. */
  async ensure(workload: Workload, signal: AbortSignal): Promise<WorkloadOutcome> {
    const before = this.deploymentOf(workload);
    // Before the operator leaves them out: otherwise they would be 1 for a moment.
    let deployment = before && (await this.#leaveReplicas(workload, before, signal));
    let taken: string | undefined;
    for (const { kind, object } of this.#rendered.getOrInsertComputed(workload, renderWorkload)) {
      if (object === undefined) {
        await this.#delete(workload, kind, signal);
        continue;
      }
      const result = await this.#apply(workload, kind, object, signal);
      if (result === "gone") return { kind: "gone" };
      if (result === "name-taken") {
        taken = `${OWNED_KINDS[kind].kind} ${ownedName(kind, workload.name)}`;
        // Users may have made it before the operator did: the pods do not need it.
        if (kind === "headlessService") continue;
        return { kind: "name-taken", taken };
      }
      if (kind === "deployment") deployment = result;
    }
    if (taken !== undefined) return { kind: "name-taken", taken };
    if (deployment === undefined) throw new TypeError("Cannot be: the Deployment was applied, and there is none");
    return { kind: "written", deployment: await this.#leaveReplicas(workload, deployment, signal), before };
  }

  /** The object as it is now; undefined when the cluster does not know its kind. */
  async #apply(
    workload: Workload,
    kind: OwnedKindName,
    object: WrittenObject,
    signal: AbortSignal,
  ): Promise<KubernetesObject | "name-taken" | "gone" | undefined> {
    const { objects, owned } = this.#deps;
    const isOptional = "isOptional" in OWNED_KINDS[kind];
    if (isOptional && !owned[kind].isListed()) return undefined;
    const key = keyOf(workload, kind);
    const cached = owned[kind].get(key);
    if (cached !== undefined && this.#isAsRendered(cached, object, workload)) return cached;
    try {
      // The caches have no objects without our label.
      const present = cached ?? (await objects.get(OWNED_KINDS[kind], key, signal));
      if (present !== undefined && !isOwn(present, workload)) return "name-taken";
      // An owner that is gone would take the object with it, and the caches may not know yet that it is.
      if (present !== undefined && !isControlledBy(present, workload) && !(await this.#isThere(workload, signal)))
        return "gone";
      const applied = present === undefined ? object : withoutController(object, present);
      return await objects.apply(OWNED_KINDS[kind], applied, { fieldManager: MANAGER, isForced: true }, signal);
    } catch (error) {
      if (isOptional && error instanceof ApiFailure && error.isKindMissing) return undefined;
      throw error;
    }
  }

  #isAsRendered(cached: KubernetesObject, object: WrittenObject, workload: Workload): boolean {
    if (this.#asRendered.get(cached) === object) return true;
    const isAsRendered = isControlledBy(cached, workload) && hasAsRendered(cached.content, object);
    if (isAsRendered) this.#asRendered.set(cached, object);
    return isAsRendered;
  }

  /** Resolves to true if the API server has the workload's resource, and does not delete it. */
  async #isThere({ namespace, name, uid }: Workload, signal: AbortSignal): Promise<boolean> {
    const service = await this.#deps.objects.get(RATE_LIMIT_SERVICES, { namespace, name }, signal);
    return service?.uid === uid && !isEnding(service);
  }

  async #delete(workload: Workload, kind: OwnedKindName, signal: AbortSignal): Promise<void> {
    const key = keyOf(workload, kind);
    const present = this.#deps.owned[kind].get(key);
    if (present === undefined || !isOwn(present, workload)) return;
    await this.#deps.objects.delete(OWNED_KINDS[kind], key, { uid: present.uid }, signal);
  }

  /**
   * Gives the replicas of an autoscaled Deployment another manager where the operator is their only one, or
   * there is none: at their present number, or at the least.
   */
  async #leaveReplicas(
    workload: Workload,
    deployment: KubernetesObject,
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    if (workload.spec.autoscaling === undefined) return deployment;
    const managers = replicasManagers(deployment);
    if (managers.some((manager) => manager !== MANAGER)) return deployment;
    const { min } = podBounds(workload.spec);
    const object: WrittenObject = {
      apiVersion: apiVersionOf(OWNED_KINDS.deployment),
      kind: OWNED_KINDS.deployment.kind,
      metadata: { name: workload.name, namespace: workload.namespace },
      spec: { replicas: managers.length === 0 ? min : replicasOf(deployment) },
    };
    const options = { fieldManager: REPLICAS_MANAGER, isForced: true };
    return await this.#deps.objects.apply(OWNED_KINDS.deployment, object, options, signal);
  }
}

function keyOf({ namespace, name }: Workload, kind: OwnedKindName): ObjectKey {
  return { namespace, name: ownedName(kind, name) };
}

/** The number of pods that a Deployment wants. */
export function replicasOf({ content }: KubernetesObject): number {
  const { replicas } = fieldsOf(content["spec"]);
  return typeof replicas === "number" ? replicas : 1;
}

/**
 * Returns true if the object is the resource's: it is its controller, or one of the same name was that is gone,
 * or none is and the labels are ours. The last two result from a restore, and from a definition that was deleted.
 */
function isOwn(object: KubernetesObject, { name, uid }: Workload): boolean {
  const controller = controllerOf(object);
  if (controller !== undefined)
    return (
      controller["uid"] === uid ||
      (controller["apiVersion"] === API_VERSION && controller["kind"] === SERVICE_KIND && controller["name"] === name)
    );
  return hasLabels(object, { ...selectorOf({ name }), [MANAGED_LABEL]: MANAGER });
}

/**
 * The object such that the controller of the present one that is gone is one no more: only one can be, and
 * another manager may have written it. Garbage collection removes the rest of the reference.
 */
function withoutController(object: WrittenObject, present: KubernetesObject): WrittenObject {
  const own = mappingsOf(object.metadata["ownerReferences"]);
  const gone = controllerOf(present);
  if (gone === undefined || own.some(({ uid }) => uid === gone["uid"])) return object;
  const ownerReferences = [{ ...gone, controller: false, blockOwnerDeletion: false }, ...own];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

function isControlledBy(object: KubernetesObject, { uid }: Workload): boolean {
  return controllerOf(object)?.["uid"] === uid;
}

function controllerOf({ content }: KubernetesObject): Mapping | undefined {
  return mappingsOf(fieldsOf(content["metadata"])["ownerReferences"]).find(({ controller }) => controller === true);
}

/** Managers of the replicas of a Deployment; none when they are the default of the API server. */
function replicasManagers({ content }: KubernetesObject): readonly unknown[] {
  return mappingsOf(fieldsOf(content["metadata"])["managedFields"])
    .filter(({ fieldsV1 }) => Object.hasOwn(fieldsOf(fieldsOf(fieldsV1)["f:spec"]), "f:replicas"))
    .map(({ manager }) => manager);
}
