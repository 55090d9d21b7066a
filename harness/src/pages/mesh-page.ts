// Reads docs/mesh.md, and puts the parts of an Envoy configuration that it shows into a whole one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { parse } from "yaml";
import { textsOf } from "./code-blocks.ts";
import { allRoutes, endpoints, EXTENSIONS, listener, socketAddress } from "../envoy/envoy-config.ts";
import { ROOT } from "../processes/programs.ts";

export type YamlObject = Record<string, unknown>;

/** A Kubernetes object of the page. */
export interface Manifest {
  readonly kind: string;
  readonly metadata?: { readonly name: string; readonly namespace?: string };
  readonly spec: YamlObject;
}

/** The YAML blocks of the page, in their order. */
export function readMeshPage(): readonly string[] {
  return textsOf("yaml", "docs/mesh.md", readFileSync(join(ROOT, "docs/mesh.md"), "utf8"));
}

/** The block that is the object of that kind and name; the name may be left out where the kind has one. */
export function findManifest(blocks: readonly string[], kind: string, name?: string): Manifest {
  const found = blocks
    .map((block) => parse(block) as Manifest)
    .filter((manifest) => manifest.kind === kind && (name === undefined || manifest.metadata?.name === name));
  if (found.length !== 1) throw new Error(`The page has ${found.length} blocks of ${kind} ${name ?? ""}`);
  return found[0]!;
}

/** How the page's configuration for Envoy finds the rate limit pods, and what it asks of them, for busy machines. */
export function pageEnvoy(): {
  /** Of the cluster, without its name and addresses. */
  readonly cluster: YamlObject;
  /** `rate_limit_service` of the filter, for a cluster `ratelimit`. */
  readonly service: YamlObject;
} {
  const block = readMeshPage().find((text) => text.startsWith("static_resources:"))!;
  const text = block.replaceAll("cluster_name: weir", "cluster_name: ratelimit");
  const { static_resources: resources } = inPod(parse(text), 0) as { static_resources: EnvoyResources };
  const {
    name: _name,
    load_assignment: _addresses,
    ...cluster
  } = resources.clusters.find(({ name }) => name === "weir")!;
  let service: YamlObject | undefined;
  mapTree(resources.listeners, (value) => {
    service ??= value["rate_limit_service"] as YamlObject | undefined;
    return value;
  });
  return { cluster, service: service! };
}

interface EnvoyResources {
  readonly listeners: unknown;
  readonly clusters: readonly (YamlObject & { readonly name: string })[];
}

/** The same configuration for a pod: it listens on `port`, and waits for busy machines. */
export function inPod(config: unknown, port: number): unknown {
  return mapTree(config, (value) => {
    const { address, timeout, connect_timeout: connect } = value;
    if (["0.0.0.0", "::", STACK_HOST].includes(String(address))) return { address: "0.0.0.0", port_value: port };
    // Envoy Gateway leaves the filter's timeout at 20 ms, after which a request is let through.
    const isFilter = value["@type"] === `${EXTENSIONS}.filters.http.ratelimit.v3.RateLimit`;
    const isCheck = value["grpc_health_check"] !== undefined;
    const isShort = timeout === "0.25s" || isCheck || (isFilter && timeout === undefined);
    return {
      ...value,
      ...(isShort && { timeout: isCheck ? "5s" : "20s" }),
      ...(connect !== undefined && LONG_CONNECT),
    };
  });
}

const LONG_CONNECT = { connect_timeout: "2s" };

/** An Envoy configuration with what two EnvoyFilters patch into a gateway that Istio would configure. */
export function applyEnvoyFilters(filters: readonly Manifest[]): unknown {
  const patches = filters.flatMap(({ spec }) => spec["configPatches"] as EnvoyFilterPatch[]);
  const valuesOf = (applyTo: string): YamlObject[] =>
    patches.filter((patch) => patch.applyTo === applyTo).map(({ patch }) => patch.value);
  const hosts = valuesOf("VIRTUAL_HOST").reduce((merged, value) => ({ ...merged, ...value }), {});
  const host = { name: "shop.example.com:80", domains: ["*"], routes: allRoutes("web"), ...hosts };
  return {
    static_resources: {
      listeners: [listener("ingress", { virtualHosts: [host], filters: valuesOf("HTTP_FILTER") })],
      clusters: [...valuesOf("CLUSTER"), webCluster("web")],
    },
  };
}

/** A cluster of the upstream. */
export function webCluster(name: string): YamlObject {
  const server = socketAddress(8080, "web.shop.svc.cluster.local");
  return { name, type: "STRICT_DNS", ...endpoints(name, [server]) };
}

interface EnvoyFilterPatch {
  readonly applyTo: string;
  readonly patch: { readonly operation: string; readonly value: YamlObject };
}

/** An EnvoyPatchPolicy's patch. */
interface JsonPatch {
  readonly type: string;
  readonly operation: { readonly op: string; readonly path: string; readonly value: YamlObject };
}

/** The listener and routes that Envoy Gateway sends to its proxies, with the names of fields as in JSON patches. */
export interface GatewayResources {
  readonly listener: YamlObject;
  readonly routes: YamlObject;
}

/** `resources` with what an EnvoyPatchPolicy adds to them, and the clusters that it adds. */
export function applyPatchPolicy(
  policy: Manifest,
  resources: GatewayResources,
): GatewayResources & { readonly clusters: readonly YamlObject[] } {
  const clusters: YamlObject[] = [];
  const { listener, routes } = structuredClone(resources);
  for (const { type, operation } of policy.spec["jsonPatches"] as JsonPatch[]) {
    if (operation.op !== "add") throw new Error(`Cannot apply the operation ${operation.op}: only add`);
    if (type.endsWith(".Cluster")) clusters.push(operation.value);
    else add(type.endsWith(".Listener") ? listener : routes, operation.path, operation.value);
  }
  return { listener, routes, clusters };
}

/** The operation "add" of RFC 6902: inserts into a list, or sets a field; the parent must exist. */
function add(target: YamlObject, path: string, value: unknown): void {
  const segments = path.split("/").slice(1);
  const last = segments.pop() ?? "";
  const parent = segments.reduce<unknown>((node, segment) => (node as YamlObject)[segment], target);
  if (Array.isArray(parent)) parent.splice(Number(last), 0, value);
  else if (typeof parent === "object" && parent !== null) (parent as YamlObject)[last] = value;
  else throw new Error(`Cannot add at ${path}: its parent does not exist`);
}

/** `tree` with each object replaced, from the leaves up. */
export function mapTree(tree: unknown, replace: (value: YamlObject) => unknown): unknown {
  if (Array.isArray(tree)) return tree.map((item) => mapTree(item, replace));
  if (typeof tree !== "object" || tree === null) return tree;
  return replace(Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, mapTree(value, replace)])));
}

/** `tree` with field names in snake case, as Envoy Gateway has them when it applies patches. */
export function withProtoNames(tree: unknown): unknown {
  const rename = (key: string): string =>
    key.includes(".") ? key : key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return mapTree(tree, (value) =>
    Object.fromEntries(Object.entries(value).map(([key, field]) => [rename(key), field])),
  );
}
