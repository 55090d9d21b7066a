// What is listed and watched: a resource of the Kubernetes API, where in the cluster, and how
// messages call that. No requests are made here.
import { API_VERSION } from "@weir/crds/rate-limit-config/schema/schema";

/** Some objects of an API server. */
export interface ApiResource {
  /** The API group; empty for the core. */
  readonly group: string;
  readonly version: string;
  /** The name that stands in paths and in roles, such as `ratelimitconfigs`. */
  readonly plural: string;
  /**
   * Only the objects of this namespace; undefined stands for all of them, or for objects that are
   * in none.
   */
  readonly namespace: string | undefined;
  /** Only objects with these labels, as kubectl's --selector has it. */
  readonly labelSelector: string | undefined;
}

/** The two verbs that following needs. */
export type ApiVerb = "list" | "watch";

/** The RateLimitConfigs of one namespace, or of all. */
export function rateLimitConfigsIn(namespace: string | undefined): ApiResource {
  const [group = "", version = ""] = API_VERSION.split("/");
  return { group, version, plural: "ratelimitconfigs", namespace, labelSelector: undefined };
}

/** The Namespaces with these labels. */
export function namespacesWith(labelSelector: string): ApiResource {
  return { group: "", version: "v1", plural: "namespaces", namespace: undefined, labelSelector };
}

/** The path and query of a request. Empty parameters are left out. */
export function requestPath(resource: ApiResource, parameters: Readonly<Record<string, string>>): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(resource.namespace)}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...parameters, labelSelector: resource.labelSelector ?? "" })) {
    if (value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `${root}${scope}/${resource.plural}${text === "" ? "" : `?${text}`}`;
}

/** What is followed, for people: `ratelimitconfigs.ratelimit.weir.dev in all namespaces`. */
export function describeResource({ group, plural, namespace, labelSelector }: ApiResource): string {
  const name = group === "" ? plural : `${plural}.${group}`;
  if (labelSelector !== undefined) return `${name} with labels ${labelSelector}`;
  return namespace === undefined ? `${name} in all namespaces` : `${name} in namespace ${namespace}`;
}
