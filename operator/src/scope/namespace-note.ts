// The namespaces in which the operator may have written statuses, as an annotation of its Lease: what the next leader
// does not watch any more it can mark, whatever its settings are by then.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, textOf } from "@weir/kubernetes/mapping";

/** The annotation: names, in order, with commas between them. The chart reads it, too. */
const ANNOTATION = "ratelimit.weir.dev/namespaces";

/** Most namespaces that are noted, at 64 bytes each: a Lease is written every few seconds. */
const NAMESPACES_MAX = 1000;

/** The names that are noted; none when nothing is. */
export function notedNamespaces({ content }: KubernetesObject): readonly string[] {
  const annotations = fieldsOf(fieldsOf(content["metadata"])["annotations"]);
  return textOf(annotations[ANNOTATION])?.split(",") ?? [];
}

/** The first of the names, in order, as many as are noted. */
export function notable(names: Iterable<string>): readonly string[] {
  return [...new Set(names)].toSorted().slice(0, NAMESPACES_MAX);
}

/** The Lease with these names, to replace exactly the one that was read. */
export function leaseWithNote({ namespace, name, content }: KubernetesObject, names: readonly string[]): WrittenObject {
  const metadata = fieldsOf(content["metadata"]);
  const annotations = { ...fieldsOf(metadata["annotations"]), [ANNOTATION]: names.join(",") };
  return {
    ...content,
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { ...metadata, namespace, name, annotations },
  };
}
