// Who a client is, from what it says of itself. Pure. None of it is proof: who may connect at all
// is the certificate's matter.
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";

/** Fleet of a pod that names none. */
const DEFAULT_FLEET = "default";

/** Longest text that is kept of what a client says of itself, in characters. */
const TEXT_MAX = 256;

/** A pod. */
export interface PodIdentity {
  readonly nodeId: string;
  readonly fleet: string;
  /** From the metadata; empty when it says nothing. */
  readonly namespace: string;
  /** From the metadata; empty when it says nothing. */
  readonly pod: string;
}

/**
 * Reads the identity of a node: its fleet is the metadata's, else its id up to the first slash,
 * else "default". No text is kept longer than is shown.
 */
export function identityOf(node: Node | undefined): PodIdentity {
  const nodeId = node?.id ?? "";
  const fleet = metadataText(node, "fleet") || (nodeId.split("/", 1)[0] ?? "") || DEFAULT_FLEET;
  return {
    nodeId: cut(nodeId),
    fleet: cut(fleet),
    namespace: cut(metadataText(node, "namespace")),
    pod: cut(metadataText(node, "pod")),
  };
}

/** How a pod is called in one word: its name if it says one, else its node id, else its address. */
export function podName({ nodeId, pod }: PodIdentity, peer: string): string {
  return pod || nodeId || peer;
}

function metadataText(node: Node | undefined, key: string): string {
  const value = node?.metadata !== undefined && Object.hasOwn(node.metadata, key) ? node.metadata[key] : undefined;
  return typeof value === "string" ? value : "";
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
