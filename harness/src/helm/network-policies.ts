// Decides as a cluster does whether NetworkPolicies admit a connection to a pod. Pure.
import { BlockList } from "node:net";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

/** Label of each namespace with its name; Kubernetes sets it. */
const NAMESPACE_LABEL = "kubernetes.io/metadata.name";

export interface PolicyPod {
  readonly namespace: string;
  readonly labels: Mapping;
  /** Labels of its namespace next to that with its name. */
  readonly namespaceLabels?: Mapping;
  /** Numbers of the ports of its containers, by name. */
  readonly ports?: Readonly<Record<string, number>>;
}

/** A client: a pod, or an address outside of the network of pods, such as that of the API server. */
export type PolicyClient = PolicyPod | { readonly address: string };

/** The pod of a Pod, or of the template of one in `namespace`. */
export function policyPodOf(pod: Mapping, namespace = fieldsOf(pod["metadata"])["namespace"]): PolicyPod {
  const containers = mappingsOf(fieldsOf(pod["spec"])["containers"]);
  const ports = containers.flatMap((container) => mappingsOf(container["ports"]));
  return {
    namespace: String(namespace),
    labels: fieldsOf(fieldsOf(pod["metadata"])["labels"]),
    ports: Object.fromEntries(ports.map(({ name, containerPort }) => [String(name), Number(containerPort)])),
  };
}

/** Returns true if the policies of a cluster admit a connection of the client to a port of the pod. */
export function isAdmitted(policies: readonly Mapping[], client: PolicyClient, pod: PolicyPod, port: number): boolean {
  const selecting = policies.filter((policy) => {
    const { podSelector, policyTypes = ["Ingress"] } = fieldsOf(policy["spec"]);
    const { namespace } = fieldsOf(policy["metadata"]);
    const isIngress = (policyTypes as readonly string[]).includes("Ingress");
    return isIngress && namespace === pod.namespace && isSelected(podSelector, pod.labels);
  });
  if (selecting.length === 0) return true; // Pods that no policy selects are open.
  return selecting.some((policy) => {
    const { ingress } = fieldsOf(policy["spec"]);
    const { namespace } = fieldsOf(policy["metadata"]);
    return mappingsOf(ingress).some(
      (rule) => hasPort(mappingsOf(rule["ports"]), pod, port) && hasPeer(mappingsOf(rule["from"]), client, namespace),
    );
  });
}

/** No list means all ports. */
function hasPort(ports: readonly Mapping[], pod: PolicyPod, port: number): boolean {
  if (ports.length === 0) return true;
  return ports.some(({ port: wanted, protocol = "TCP" }) => {
    const number = typeof wanted === "string" ? pod.ports?.[wanted] : wanted;
    return protocol === "TCP" && (wanted === undefined || number === port);
  });
}

/** No list means all peers. */
function hasPeer(peers: readonly Mapping[], client: PolicyClient, namespace: unknown): boolean {
  return peers.length === 0 || peers.some((peer) => isPeer(peer, client, namespace));
}

function isPeer(
  { ipBlock, podSelector, namespaceSelector }: Mapping,
  client: PolicyClient,
  namespace: unknown,
): boolean {
  if ("address" in client) return ipBlock !== undefined && isInBlock(fieldsOf(ipBlock), client.address);
  if (ipBlock !== undefined) return false; // Blocks are for what is not a pod.
  const namespaceLabels = { ...client.namespaceLabels, [NAMESPACE_LABEL]: client.namespace };
  const isNamespace =
    namespaceSelector === undefined ? client.namespace === namespace : isSelected(namespaceSelector, namespaceLabels);
  return isNamespace && (podSelector === undefined || isSelected(podSelector, client.labels));
}

function isInBlock({ cidr, except }: Mapping, address: string): boolean {
  const contains = (block: unknown): boolean => {
    const [network = "", bits = ""] = String(block).split("/");
    const list = new BlockList();
    list.addSubnet(network, Number(bits), network.includes(":") ? "ipv6" : "ipv4");
    return list.check(address, address.includes(":") ? "ipv6" : "ipv4");
  };
  return contains(cidr) && !((except ?? []) as readonly unknown[]).some(contains);
}

/** Returns true if a label selector selects the labels; an empty one selects all. */
function isSelected(selector: unknown, labels: Mapping): boolean {
  const { matchLabels, matchExpressions } = fieldsOf(selector);
  return (
    Object.entries(fieldsOf(matchLabels)).every(([name, value]) => labels[name] === value) &&
    mappingsOf(matchExpressions).every((expression) => isExpressionTrue(expression, labels))
  );
}

function isExpressionTrue({ key, operator, values }: Mapping, labels: Mapping): boolean {
  const value = textOf(labels[String(key)]);
  const isListed = value !== undefined && ((values ?? []) as readonly string[]).includes(value);
  switch (operator) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      throw new Error(`Cannot evaluate the operator ${String(operator)}`);
  }
}
