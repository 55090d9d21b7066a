// Reads the identity of a pod from the node in its request. Pure. It is a claim, but
// for what a client certificate names.
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";

/** Fleet of a pod that names none. */
const DEFAULT_FLEET = "default";

/** Longest text that is kept of a field, in characters. */
const TEXT_MAX = 256;

export interface PodIdentity {
  readonly nodeId: string;
  readonly fleet: string;
  /** Of the certificate, else from the metadata; empty without both. */
  readonly namespace: string;
  /** From the metadata; empty without it. */
  readonly pod: string;
}

/**
 * The identity of a node. Fleet and namespace are those of its certificate if given, else the
 * metadata's; without a fleet there it is the id up to a slash, else "default".
 */
export function identityOf(node: Node | undefined, granted?: Pick<PodIdentity, "namespace" | "fleet">): PodIdentity {
  const nodeId = node?.id ?? "";
  const fleet = granted?.fleet ?? fleetNamedBy(node) ?? ((nodeId.split("/", 1)[0] ?? "") || DEFAULT_FLEET);
  return {
    nodeId: cut(nodeId),
    fleet: cut(fleet),
    namespace: cut(granted?.namespace ?? namespaceNamedBy(node) ?? ""),
    pod: cut(metadataText(node, "pod")),
  };
}

/** The fleet in the metadata, else before a slash in the id, uncut; undefined: neither. */
export function fleetNamedBy(node: Node | undefined): string | undefined {
  const named = metadataText(node, "fleet");
  if (named !== "") return named;
  const [prefix = "", ...rest] = (node?.id ?? "").split("/");
  return rest.length === 0 || prefix === "" ? undefined : prefix;
}

/** The namespace in the metadata, uncut; undefined: none. */
export function namespaceNamedBy(node: Node | undefined): string | undefined {
  return metadataText(node, "namespace") || undefined;
}

/** Returns true if the client checks its way to the control plane, and enforces nothing of what it is sent. */
export function isProbe(node: Node | undefined): boolean {
  return metadataText(node, "probe") === "true";
}

/** The name of a pod in the log: `<namespace>/<pod>`, else its node id, else its address. */
export function podName({ nodeId, namespace, pod }: Omit<PodIdentity, "fleet">, peer: string): string {
  return namespace !== "" && pod !== "" ? `${namespace}/${pod}` : pod || nodeId || peer;
}

function metadataText(node: Node | undefined, key: string): string {
  const value = node?.metadata !== undefined && Object.hasOwn(node.metadata, key) ? node.metadata[key] : undefined;
  return typeof value === "string" ? value : "";
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
