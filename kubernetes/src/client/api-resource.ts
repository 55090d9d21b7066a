// A resource of the Kubernetes API: its paths, and its name in messages.

/** Some objects of an API server. */
export interface ApiResource {
  /** The API group; empty for the core. */
  readonly group: string;
  readonly version: string;
  /** The name in paths and in roles, such as `ratelimitconfigs`. */
  readonly plural: string;
  /** Only the objects of this namespace; undefined for all of them, and for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** Only objects with these labels, written as for kubectl --selector. */
  readonly labelSelector: string | undefined;
  /** Only the object of this name. */
  readonly name?: string;
}

/** A kind of objects, in every namespace or without one. */
export type ApiKind = Pick<ApiResource, "group" | "version" | "plural">;

/** The objects of a kind in one namespace, or all of them. */
export function resourceOf(kind: ApiKind, namespace?: string): ApiResource {
  const { group, version, plural } = kind;
  return { group, version, plural, namespace, labelSelector: undefined };
}

/** An action of an account on a resource, as roles name it. */
export type ApiVerb = "list" | "watch" | "get" | "create" | "update" | "patch" | "delete";

/** The path and query of a request. Empty parameters are left out. */
export function requestPath(resource: ApiResource, parameters: Readonly<Record<string, string>>): string {
  // With this selector a role for the one name is enough.
  const fieldSelector = resource.name === undefined ? "" : `metadata.name=${resource.name}`;
  const selectors = { labelSelector: resource.labelSelector ?? "", fieldSelector };
  return collectionPath(resource) + queryOf({ ...parameters, ...selectors });
}

/** The path and query of a request for one object or for its sub-resource. Empty parameters are left out. */
export function objectPath(
  resource: ApiResource,
  name: string,
  { subresource = "", ...parameters }: Readonly<Record<string, string>> = {},
): string {
  const path = `${collectionPath(resource)}/${encodeURIComponent(name)}`;
  return `${path}${subresource === "" ? "" : `/${subresource}`}${queryOf(parameters)}`;
}

function collectionPath({ group, version, namespace, plural }: ApiResource): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${plural}`;
}

/** With its question mark; empty without parameters. */
function queryOf(parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "")).toString();
  return query === "" ? "" : `?${query}`;
}

/** The resource for people: `ratelimitconfigs.ratelimit.weir.dev in all namespaces`. */
export function describeResource({ group, plural, namespace, labelSelector, name: only }: ApiResource): string {
  const name = group === "" ? plural : `${plural}.${group}`;
  if (only !== undefined) return `${name} ${only}`;
  if (labelSelector !== undefined) return `${name} with labels ${labelSelector}`;
  return namespace === undefined ? `${name} in all namespaces` : `${name} in namespace ${namespace}`;
}
