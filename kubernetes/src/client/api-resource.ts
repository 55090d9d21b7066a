// A resource of the Kubernetes API that is listed and watched: its paths, and its name in messages.

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

/** The verbs that a reflector needs. */
export type ApiVerb = "list" | "watch";

/** The path and query of a request. Empty parameters are left out. */
export function requestPath(resource: ApiResource, parameters: Readonly<Record<string, string>>): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(resource.namespace)}`;
  const query = new URLSearchParams();
  // With this selector a role for the one name is enough.
  const fieldSelector = resource.name === undefined ? "" : `metadata.name=${resource.name}`;
  const selectors = { labelSelector: resource.labelSelector ?? "", fieldSelector };
  for (const [name, value] of Object.entries({ ...parameters, ...selectors })) {
    if (value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `${root}${scope}/${resource.plural}${text === "" ? "" : `?${text}`}`;
}

/** The resource for people: `ratelimitconfigs.ratelimit.weir.dev in all namespaces`. */
export function describeResource({ group, plural, namespace, labelSelector, name: only }: ApiResource): string {
  const name = group === "" ? plural : `${plural}.${group}`;
  if (only !== undefined) return `${name} ${only}`;
  if (labelSelector !== undefined) return `${name} with labels ${labelSelector}`;
  return namespace === undefined ? `${name} in all namespaces` : `${name} in namespace ${namespace}`;
}
