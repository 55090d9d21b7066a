// The RateLimitConfigs of the cluster as resources of a source: each is checked when it changes,
// and the last good form of one that is broken stays. Pure but for its memory: objects come in, a
// state comes out.
import { hash } from "node:crypto";

import { describeError } from "@weir/common/errors/service-error";
import { excerpt } from "@weir/limits/go-yaml/excerpt";
import { API_VERSION, KIND, parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { fieldPath } from "@weir/limits/model/field-path";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { findProblems } from "@weir/limits/validate/validate";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { Place, SourceRefusal, SourceResource } from "../source.ts";
import { resourceKey } from "../source.ts";
import type { KubernetesObject } from "@weir/kubernetes/kubernetes-object";

/** Most problems that are told of one resource; who has more will not read them all. */
const PROBLEMS_MAX = 100;

/** What kubectl remembers in each object: as long as the object itself, and nothing to us. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** What is known of one object. */
export interface KnownObject {
  readonly key: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number | undefined;
  /** Stands for what is wanted, as the server gave it. */
  readonly digest: string;
  /** The present form, or the last good one while that is refused; undefined when there is none. */
  readonly resource: SourceResource | undefined;
  readonly refusals: readonly SourceRefusal[];
}

/** Remembers the objects that one reflector follows. */
export interface ObjectMemory {
  /** How many objects there are. */
  size(): number;
  /** Takes over all objects: what is not among them is gone. True when that changed anything. */
  replace(objects: readonly KubernetesObject[]): boolean;
  /** Takes over one object. True when that changed anything that matters. */
  put(object: KubernetesObject): boolean;
  /** Forgets one object. True when it was known. */
  delete(object: KubernetesObject): boolean;
  /** Everything, ordered by namespace and name. */
  list(): readonly KnownObject[];
}

/** Makes an empty memory. */
export function createObjectMemory(): ObjectMemory {
  let known = new Map<string, KnownObject>();
  return {
    size: () => known.size,
    replace: (objects) => {
      const before = known;
      known = new Map(
        objects.map((object) => [resourceKey(object), knownObject(object, before.get(resourceKey(object)))]),
      );
      return known.size !== before.size || [...known].some(([key, object]) => before.get(key) !== object);
    },
    put: (object) => {
      const key = resourceKey(object);
      const before = known.get(key);
      const after = knownObject(object, before);
      known.set(key, after);
      return after !== before;
    },
    delete: (object) => known.delete(resourceKey(object)),
    list: () => [...known.values()].toSorted((left, right) => compareCodeUnits(left.key, right.key)),
  };
}

/** The same as before when only the status or other things that do not matter have changed. */
function knownObject(object: KubernetesObject, before: KnownObject | undefined): KnownObject {
  const { uid, generation, namespace } = object;
  // Another object that bears the name of one that is gone inherits nothing from it.
  const same = before?.uid === uid ? before : undefined;
  // Not by generation alone: after a change of the CustomResourceDefinition the server gives the
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

/** A generation counts on its own when, for example, an object begins to be deleted. */
function withGeneration(known: KnownObject, generation: number | undefined): KnownObject {
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

/** A resource, or why it is none. */
type CheckedObject =
  | { readonly ok: true; readonly resource: SourceResource }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** An object that the checks stumble over must not take the other ones along. */
function tryObject(object: KubernetesObject): CheckedObject {
  try {
    return checkObject(object);
  } catch (error) {
    return { ok: false, problems: [{ path: [], message: `the object cannot be read: ${describeError(error)}` }] };
  }
}

function checkObject(object: KubernetesObject): CheckedObject {
  // Fields that this program does not know come from a newer CustomResourceDefinition: the API
  // server has accepted them.
  const parsed = parseRateLimitConfigResource(withoutBallast(object.content), { unknownFields: "ignore" });
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

/** What matters of an object; the items of a list may lack their kind. */
function withoutBallast(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
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
