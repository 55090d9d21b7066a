// Reads a RateLimitConfig of a cluster as a resource of a source: validates it when it changes, and
// keeps the last good revision of one that becomes invalid.
import { hash } from "node:crypto";

import { describeError } from "@weir/common/errors/service-error";
import { excerpt } from "@weir/limits/go-yaml/node";
import { checkStoredObject } from "@weir/crds/rate-limit-config/manifest/check-stored-object";
import { withShadowMode } from "@weir/crds/rate-limit-config/translate/translate";
import { fieldPath } from "@weir/limits/model/field-path";

import type { SourceLocation, SourceRefusal, SourceResource } from "../source.ts";
import { resourceKey } from "../source.ts";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

/** An object of the cluster. */
export interface StoredObject {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** Creation time, milliseconds since the epoch; 0 when none is known. */
  readonly createdMs: number;
  readonly uid: string;
  readonly generation: number | undefined;
  /** The domain in its spec, also when the rest is invalid; undefined when that is no text. */
  readonly domain: string | undefined;
  /** The switch in its spec, also when the rest is invalid. */
  readonly shadowMode: unknown;
  /** Hash of the spec as the server sent it. */
  readonly digest: string;
  /** The current revision, or the last good one while that is invalid; undefined when there is none. */
  readonly resource: SourceResource | undefined;
  readonly refusals: readonly SourceRefusal[];
}

/** Returns `before` itself when only the status, labels or annotations have changed. */
export function storedObject(object: KubernetesObject, before: StoredObject | undefined): StoredObject {
  const { uid, generation, namespace, name } = object;
  // A new object with the name of a deleted one inherits nothing from it.
  const same = before?.uid === uid ? before : undefined;
  // Not by generation alone: after a change of the CustomResourceDefinition the server sends the
  // same generation with other defaults, and a replica that has just started sees those.
  const digest = hash("sha1", JSON.stringify(object.content["spec"] ?? null));
  if (same?.digest === digest) return withGeneration(same, generation);
  const createdMs = createdMsOf(object);
  const known = {
    key: resourceKey(object),
    namespace,
    name,
    createdMs,
    uid,
    generation,
    domain: domainOf(object),
    shadowMode: specOf(object)["shadowMode"],
    digest,
  };
  const checked = tryObject(object);
  if (checked.ok) return { ...known, resource: checked.resource, refusals: [] };
  const lastGood = same?.resource;
  return {
    ...known,
    resource: lastGood && {
      ...lastGood,
      resource: withShadowMode(lastGood.resource, known.shadowMode),
      isLastGood: true,
    },
    refusals: checked.problems.map(({ path, message }) => ({
      place: placeOf(object),
      field: excerpt(fieldPath(path)),
      message: excerpt(message),
      resource: known.key,
      keepsLastGood: lastGood !== undefined,
      uid,
      ...(generation === undefined ? {} : { generation }),
    })),
  };
}

function domainOf(object: KubernetesObject): string | undefined {
  const { domain } = specOf(object);
  return typeof domain === "string" ? domain : undefined;
}

function specOf({ content }: KubernetesObject): Readonly<Record<string, unknown>> {
  return (content["spec"] ?? {}) as Readonly<Record<string, unknown>>;
}

/** The creation time of an object, milliseconds since the epoch; 0 when none is known. */
export function createdMsOf({ content }: KubernetesObject): number {
  const metadata = content["metadata"] as Readonly<Record<string, unknown>> | null | undefined;
  const created = metadata?.["creationTimestamp"];
  return (typeof created === "string" && Date.parse(created)) || 0;
}

/** The location of an object, for people. */
export function placeOf(object: { readonly namespace: string; readonly name: string }): SourceLocation {
  return { file: `ratelimitconfigs/${resourceKey(object)}`, line: 0, column: 0 };
}

/** The generation changes without the spec when, for example, the deletion of an object begins. */
function withGeneration(known: StoredObject, generation: number | undefined): StoredObject {
  if (known.generation === generation || generation === undefined) return known;
  const { resource } = known;
  return {
    ...known,
    generation,
    refusals: known.refusals.map((refusal) => ({ ...refusal, generation })),
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
  const checked = checkStoredObject(object.content);
  if (!checked.ok) return checked;
  const place = placeOf(object);
  return {
    ok: true,
    resource: {
      namespace: object.namespace,
      name: object.name,
      createdMs: createdMsOf(object),
      resource: checked.resource,
      place,
      isLastGood: false,
      locate: () => place,
      uid: object.uid,
      ...(object.generation === undefined ? {} : { generation: object.generation }),
    },
  };
}
