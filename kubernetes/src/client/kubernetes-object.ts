// Reads objects, lists and watch events from the JSON of an API server, as far as all kinds have the
// same fields.
import { mappingOf } from "../mapping.ts";

/** An object of the cluster. */
export interface KubernetesObject {
  readonly name: string;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  /** Differs from that of a later object with the same name. */
  readonly uid: string;
  readonly resourceVersion: string;
  /** Counts the changes of the spec; undefined when the server does not count. */
  readonly generation: number | undefined;
  /** The whole object. */
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

/** Reads a page; undefined when the value is no list of objects. Its objects are as a watch sends them. */
export function readPage(value: unknown): ObjectPage | undefined {
  const list = mappingOf(value);
  const metadata = mappingOf(list?.["metadata"]);
  // An empty list may be null: that is how Go writes it.
  const items: unknown = list?.["items"] ?? [];
  const resourceVersion = metadata?.["resourceVersion"];
  const continueToken = metadata?.["continue"] ?? "";
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || typeof continueToken !== "string")
    return undefined;
  const objects = items.map((item) => readObject(withType(item, list))).filter((object) => object !== undefined);
  return objects.length === items.length ? { objects, resourceVersion, continueToken } : undefined;
}

/** An item with the type of its list; the API server leaves it out of the items of kinds that are built in. */
function withType(item: unknown, list: Readonly<Record<string, unknown>> | undefined): unknown {
  const fields = mappingOf(item);
  if (fields === undefined || fields["kind"] !== undefined || typeof list?.["kind"] !== "string") return item;
  return { apiVersion: list["apiVersion"], kind: list["kind"].replace(/List$/, ""), ...fields };
}

/** Reads an event; undefined when the value is no event or one of an unknown type. */
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

/** Reads an object; undefined when the value is none. */
export function readObject(value: unknown): KubernetesObject | undefined {
  const content = mappingOf(value);
  const metadata = mappingOf(content?.["metadata"]);
  if (content === undefined || metadata === undefined) return undefined;
  const { name, namespace = "", uid, resourceVersion, generation } = metadata;
  if (typeof name !== "string" || typeof namespace !== "string") return undefined;
  if (typeof uid !== "string" || typeof resourceVersion !== "string") return undefined;
  const counted = typeof generation === "number" ? generation : undefined;
  return { name, namespace, uid, resourceVersion, generation: counted, content };
}
