// Stores the RateLimitConfigs of a cluster as resources of a source: validates each one when it
// changes, and keeps the last good form of one that becomes invalid.
import { hash } from "node:crypto";

import { describeError } from "@weir/common/errors/service-error";
import { excerpt } from "@weir/limits/go-yaml/node";
import { API_VERSION, KIND, parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { fieldPath } from "@weir/limits/model/field-path";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { findProblems } from "@weir/limits/validate/validate";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { Place, SourceRefusal, SourceResource } from "../source.ts";
import { resourceKey } from "../source.ts";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

/** Most problems of one resource that are reported. */
const PROBLEMS_MAX = 100;

/** The copy of the object that kubectl adds: as long as the object itself, and not needed here. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** An object of the cluster. */
export interface StoredObject {
  readonly key: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number | undefined;
  /** Hash of the spec as the server sent it. */
  readonly digest: string;
  /** The present form, or the last good one while that is invalid; undefined when there is none. */
  readonly resource: SourceResource | undefined;
  readonly refusals: readonly SourceRefusal[];
}

/** The objects that one reflector follows. */
export class ObjectStore {
  #objects = new Map<string, StoredObject>();

  /** The number of objects. */
  size(): number {
    return this.#objects.size;
  }

  /** Replaces all objects; those that are not in the list are gone. Returns true if that changed any. */
  replace(objects: readonly KubernetesObject[]): boolean {
    const before = this.#objects;
    this.#objects = new Map(
      objects.map((object) => [resourceKey(object), storedObject(object, before.get(resourceKey(object)))]),
    );
    return this.#objects.size !== before.size || [...this.#objects].some(([key, object]) => before.get(key) !== object);
  }

  /** Adds or replaces one object. Returns true if more than its status or labels changed. */
  put(object: KubernetesObject): boolean {
    const key = resourceKey(object);
    const before = this.#objects.get(key);
    const after = storedObject(object, before);
    this.#objects.set(key, after);
    return after !== before;
  }

  /** Removes one object. Returns true if it was in the store. */
  delete(object: KubernetesObject): boolean {
    return this.#objects.delete(resourceKey(object));
  }

  /** All objects, ordered by namespace and name. */
  list(): readonly StoredObject[] {
    return [...this.#objects.values()].toSorted((left, right) => compareCodeUnits(left.key, right.key));
  }
}

/** Returns `before` itself when only the status, labels or annotations have changed. */
function storedObject(object: KubernetesObject, before: StoredObject | undefined): StoredObject {
  const { uid, generation, namespace } = object;
  // A new object with the name of a deleted one inherits nothing from it.
  const same = before?.uid === uid ? before : undefined;
  // Not by generation alone: after a change of the CustomResourceDefinition the server sends the
  // same generation with other defaults, and a replica that has just started sees those.
  const digest = hash("sha1", JSON.stringify(object.content["spec"] ?? null));
  if (same?.digest === digest) return withGeneration(same, generation);
  const known = { key: resourceKey(object), namespace, uid, generation, digest };
  const checked = tryObject(object);
  if (checked.ok) return { ...known, resource: checked.resource, refusals: [] };
  const lastGood = same?.resource;
  return {
    ...known,
    resource: lastGood === undefined ? undefined : { ...lastGood, isLastGood: true },
    refusals: checked.problems.map(({ path, message }) => ({
      place: placeOf(object),
      field: excerpt(fieldPath(path)),
      message: excerpt(message),
      resource: known.key,
      keepsLastGood: lastGood !== undefined,
    })),
  };
}

/** The generation changes without the spec when, for example, the deletion of an object begins. */
function withGeneration(known: StoredObject, generation: number | undefined): StoredObject {
  if (known.generation === generation || generation === undefined) return known;
  const { resource } = known;
  return {
    ...known,
    generation,
    resource: resource === undefined || resource.isLastGood ? resource : { ...resource, generation },
  };
}

interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A valid resource, or its problems. */
type CheckedObject =
  | { readonly ok: true; readonly resource: SourceResource }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A check that throws on one object must not affect the other ones. */
function tryObject(object: KubernetesObject): CheckedObject {
  try {
    return checkObject(object);
  } catch (error) {
    return { ok: false, problems: [{ path: [], message: `the object cannot be read: ${describeError(error)}` }] };
  }
}

function checkObject(object: KubernetesObject): CheckedObject {
  // Unknown fields come from a newer CustomResourceDefinition: the API server has accepted them.
  const parsed = parseRateLimitConfigResource(withoutStatus(object.content), { unknownFields: "ignore" });
  const found = parsed.ok
    ? findProblems(modelOfResource(parsed.resource)).map(({ path, message }) => ({ path: ["spec", ...path], message }))
    : parsed.problems;
  if (!parsed.ok || found.length > 0) return { ok: false, problems: found.slice(0, PROBLEMS_MAX) };
  const { creationTimestamp } = parsed.resource.metadata;
  const place = placeOf(object);
  return {
    ok: true,
    resource: {
      namespace: object.namespace,
      name: object.name,
      createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
      resource: parsed.resource,
      place,
      isLastGood: false,
      locate: () => place,
      uid: object.uid,
      ...(object.generation === undefined ? {} : { generation: object.generation }),
    },
  };
}

/** The object without its status and annotations of tools; the items of a list may lack their kind. */
function withoutStatus(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { status: _status, ...rest } = content;
  const {
    managedFields: _managedFields,
    annotations,
    ...metadata
  } = content["metadata"] as Readonly<Record<string, unknown>>;
  const kept = typeof annotations === "object" && annotations !== null ? omit(annotations, LAST_APPLIED) : undefined;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    ...rest,
    metadata: kept === undefined ? metadata : { ...metadata, annotations: kept },
  };
}

function omit(mapping: object, name: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => key !== name));
}

function placeOf(object: KubernetesObject): Place {
  return { file: `ratelimitconfigs/${resourceKey(object)}`, line: 0, column: 0 };
}
