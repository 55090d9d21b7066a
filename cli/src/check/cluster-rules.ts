// Reads the RateLimitConfigs of a cluster with the rights of the user, and orders them as the control
// plane does.
import { checkStoredObject } from "@weir/crds/rate-limit-config/manifest/check-stored-object";
import type { Env } from "@weir/common/settings/read-env";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { fieldPath, type FieldPath } from "@weir/limits/model/field-path";

import { resolveResources } from "./check-files.ts";
import { type CheckedResource, type CheckProblem, type FileLocation, resourceAt } from "./check-text.ts";
import { openCluster } from "../cluster/open-cluster.ts";
import { RATE_LIMIT_CONFIG } from "../cluster/weir-kinds.ts";
import type { ClusterRulesChoice } from "../cluster/rules-choice.ts";

export interface ClusterRules {
  /** The resources that own their domains, also invalid ones, whose last good revision pods enforce. */
  readonly resources: readonly CheckedResource[];
  /** Why pods may not have the rules as they are written. */
  readonly warnings: readonly ClusterWarning[];
}

/** A warning about one resource. */
export interface ClusterWarning extends CheckProblem {
  /** The domain that the resource names. */
  readonly domain: string;
}

/** Reads the rules. Fails with ServiceError when the cluster does not answer or refuses the list. */
export async function readClusterRules(
  { cluster: choice, namespace, allNamespaces }: ClusterRulesChoice,
  { env, signal }: { readonly env: Env; readonly signal: AbortSignal },
): Promise<ClusterRules> {
  const cluster = await openCluster(choice, env);
  try {
    const scope = allNamespaces ? undefined : (namespace ?? cluster.namespace);
    return orderRules(await cluster.list(resourceOf(RATE_LIMIT_CONFIG.api, scope), signal));
  } finally {
    await cluster.close();
  }
}

/** Checks RateLimitConfigs as the API server stores them, and resolves who owns each domain. Pure. */
export function orderRules(objects: readonly KubernetesObject[]): ClusterRules {
  const warnings: ClusterWarning[] = [];
  const claims: CheckedResource[] = [];
  for (const object of objects) {
    const key = `${object.namespace}/${object.name}`;
    const domain = textOf(fieldsOf(object.content["spec"])["domain"]) ?? "";
    const warn = (field: FieldPath, message: string): void =>
      void warnings.push({ ...placeIn(key, field), field: "", message, domain });
    const checked = checkStoredObject(object.content);
    if (checked.ok) claims.push(resourceAt(checked.resource, (field) => placeIn(key, field)));
    else {
      // Its last good revision keeps the domain, so a younger resource must not be taken for the owner.
      if (domain !== "") claims.push(invalidClaim(object, domain));
      for (const { path, message } of checked.problems)
        warn(path, `${message}: left out, pods enforce the last good revision of the resource if there is one`);
    }
    const refusal = refusalOf(object);
    if (refusal !== undefined && checked.ok) warn([], `the cluster does not accept these rules: ${refusal}`);
  }
  const { owners, problems } = resolveResources(claims);
  for (const problem of problems) {
    const domain = claims.find(({ domainAt, fleetsAt }) =>
      [domainAt.path, fleetsAt.path].includes(problem.path),
    )?.domain;
    warnings.push({ ...problem, field: "", message: `${problem.message}: left out`, domain: domain ?? "" });
  }
  return { resources: owners, warnings };
}

/** The claim of an invalid resource, without rules: what it had before is not in the cluster's object. */
function invalidClaim({ namespace, name, content }: KubernetesObject, domain: string): CheckedResource {
  const key = `${namespace}/${name}`;
  const created = Date.parse(textOf(fieldsOf(content["metadata"])["creationTimestamp"]) ?? "");
  const { fleets } = fieldsOf(content["spec"]);
  const named = Array.isArray(fleets) ? fleets.filter((fleet) => typeof fleet === "string") : [];
  return {
    namespace,
    name,
    createdMs: Number.isNaN(created) ? 0 : created,
    domain,
    fleets: named.length === 0 ? undefined : named,
    shadowAt: undefined,
    nameAt: placeIn(key, ["metadata", "name"]),
    domainAt: placeIn(key, ["spec", "domain"]),
    fleetsAt: placeIn(key, ["spec", "fleets"]),
    rules: {
      model: { name: key, domain, descriptors: [] },
      placeOf: (field) => placeIn(key, ["spec", ...field]),
    },
    isInvalid: true,
  };
}

/** Such as `web/shop spec.descriptors[0]`, without line and column. */
function placeIn(key: string, field: FieldPath): FileLocation {
  const text = fieldPath(field);
  return { path: text === "" ? key : `${key} ${text}`, line: 0, column: 0 };
}

/** Why the status of the present generation is not Accepted; undefined when it is, or nothing is known. */
function refusalOf({ content, generation }: KubernetesObject): string | undefined {
  const accepted = mappingsOf(fieldsOf(content["status"])["conditions"]).find(({ type }) => type === "Accepted");
  if (accepted?.["status"] !== "False" || accepted["observedGeneration"] !== generation) return undefined;
  return textOf(accepted["message"]);
}
