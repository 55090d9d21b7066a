// The objects, lists and events of an API server, as far as every kind has them in common: unknown
// JSON in, checked values out. Pure.

/** An object of the cluster. */
export interface KubernetesObject {
  readonly name: string;
  /** Empty for an object that is in none. */
  readonly namespace: string;
  /** Tells an object from a later one with the same name. */
  readonly uid: string;
  readonly resourceVersion: string;
  /**
   * Counts the changes of what is wanted, not of the status; undefined when the server does not
   * count.
   */
  readonly generation: number | undefined;
  /** Everything it says. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** One page of a list. */
export interface ObjectPage {
  readonly objects: readonly KubernetesObject[];
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly continueToken: string;
}

/** One line of a watch. */
export type WatchEvent =
  | { readonly kind: "put" | "delete"; readonly object: KubernetesObject }
  | { readonly kind: "bookmark"; readonly resourceVersion: string }
  | { readonly kind: "error"; readonly status: unknown };

/** Reads a page; undefined when the value is none. */
export function readPage(value: unknown): ObjectPage | undefined {
  const list = mappingOf(value);
  const metadata = mappingOf(list?.["metadata"]);
  // A list of no objects may be null: that is what an empty list of Go is.
  const items: unknown = list?.["items"] ?? [];
  const resourceVersion = metadata?.["resourceVersion"];
  const continueToken = metadata?.["continue"] ?? "";
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || typeof continueToken !== "string")
    return undefined;
  const objects: KubernetesObject[] = [];
  for (const item of items) {
    const object = readObject(item);
    if (object === undefined) return undefined;
    objects.push(object);
  }
  return { objects, resourceVersion, continueToken };
}

/** Reads an event; undefined when the value is none, or of a kind that nobody knows. */
export function readWatchEvent(value: unknown): WatchEvent | undefined {
  const event = mappingOf(value);
  switch (event?.["type"]) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const object = readObject(event["object"]);
      return object === undefined ? undefined : { kind: event["type"] === "DELETED" ? "delete" : "put", object };
    }
    case "BOOKMARK": {
      const resourceVersion = mappingOf(mappingOf(event["object"])?.["metadata"])?.["resourceVersion"];
      return typeof resourceVersion === "string" ? { kind: "bookmark", resourceVersion } : undefined;
    }
    case "ERROR":
      return { kind: "error", status: event["object"] };
    default:
      return undefined;
  }
}

function readObject(value: unknown): KubernetesObject | undefined {
  const content = mappingOf(value);
  const metadata = mappingOf(content?.["metadata"]);
  if (content === undefined || metadata === undefined) return undefined;
  const { name, namespace = "", uid, resourceVersion, generation } = metadata;
  if (typeof name !== "string" || typeof namespace !== "string") return undefined;
  if (typeof uid !== "string" || typeof resourceVersion !== "string") return undefined;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation: typeof generation === "number" ? generation : undefined,
    content,
  };
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
