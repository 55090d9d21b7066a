// The ready pods of the Services behind each fleet that RateLimitServices own: what Ready waits for.
import { fleetConflictOf, fleetOwners } from "@weir/crds/rate-limit-service/fleet-owner";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { readService } from "../certificates/read-service.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ReadyPods } from "../reports/merged-reports.ts";
import { INSTANCE_LABEL, selectorOf } from "./objects/workload.ts";
import { hasLabels, isEnding, isReadyPod, labelOf } from "./pods.ts";

/** The objects that it is read from. */
export interface ReadyPodObjects {
  /** RateLimitServices. */
  readonly services: Pick<ObjectLookup, "list" | "onChange">;
  /** Pods with the label `app.kubernetes.io/managed-by: weir-operator`. */
  readonly pods: Pick<ObjectLookup, "list" | "onChange">;
}

/** Follows the ready pods of fleets; until their objects change they are the same object. */
export class FleetPods {
  readonly #objects: ReadyPodObjects;
  #known: ReadonlyMap<string, ReadyPods> | undefined;

  constructor(objects: ReadyPodObjects) {
    this.#objects = objects;
    this.onChange(() => (this.#known = undefined));
  }

  /** By fleet; a fleet that no RateLimitService owns has no entry. */
  byFleet(): ReadonlyMap<string, ReadyPods> {
    return (this.#known ??= readyPodsOf(this.#objects.services.list(), this.#objects.pods.list()));
  }

  /** Calls `listener` after each change that may concern them. */
  onChange(listener: () => void): void {
    const { services, pods } = this.#objects;
    services.onChange((before, after) => {
      if (fleetText(before) !== fleetText(after)) listener();
    });
    pods.onChange((before, after) => {
      if (podText(before) !== podText(after)) listener();
    });
  }
}

interface PodsOfFleet extends ReadyPods {
  readonly addresses: Map<string, ReadonlySet<string>>;
  readonly ready: Set<string>;
  readonly awaited: Set<string>;
}

/** The pods of each owned fleet, with their addresses. */
export function readyPodsOf(
  services: readonly KubernetesObject[],
  pods: readonly KubernetesObject[],
): ReadonlyMap<string, ReadyPods> {
  const owners = fleetOwners(services.map((service) => readService(service)));
  const ready = new Map<string, PodsOfFleet>();
  const byService = Map.groupBy(
    pods.filter((pod) => !isEnding(pod)),
    (pod) => serviceOf(pod),
  );
  for (const service of services) {
    const member = readService(service);
    if (fleetConflictOf(member, owners) !== undefined) continue;
    const ofFleet = ready.getOrInsertComputed(member.fleet, () => ({
      addresses: new Map(),
      ready: new Set(),
      awaited: new Set(),
    }));
    for (const pod of byService.get(`${member.namespace}/${member.name}`) ?? []) {
      const name = `${pod.namespace}/${pod.name}`;
      ofFleet.addresses.set(name, new Set(addressesOf(pod)));
      if (!isReadyPod(pod)) continue;
      ofFleet.ready.add(name);
      if (!isElsewhere(service)) ofFleet.awaited.add(name);
    }
  }
  return ready;
}

/** The parts of a service that matter here, as a text for comparisons. */
function fleetText(service: KubernetesObject | undefined): string | undefined {
  return service && [service.uid, readService(service).fleet, isElsewhere(service)].join();
}

/** Returns true if the pods connect to a control plane of another address, which other operators report on. */
function isElsewhere({ content }: KubernetesObject): boolean {
  return textOf(fieldsOf(fieldsOf(content["spec"])["controlPlane"])["address"]) !== undefined;
}

/** The parts of a pod that matter here, as a text for comparisons. */
function podText(pod: KubernetesObject | undefined): string | undefined {
  return pod && [serviceOf(pod), isEnding(pod), isReadyPod(pod), ...addressesOf(pod)].join();
}

/** The RateLimitService whose Service selects the pod, as `<namespace>/<name>`; undefined: none does. */
function serviceOf(pod: KubernetesObject): string | undefined {
  const name = labelOf(pod, INSTANCE_LABEL) ?? "";
  return hasLabels(pod, selectorOf({ name })) ? `${pod.namespace}/${name}` : undefined;
}

function addressesOf({ content }: KubernetesObject): readonly string[] {
  return mappingsOf(fieldsOf(content["status"])["podIPs"]).flatMap(({ ip }) => textOf(ip) ?? []);
}
