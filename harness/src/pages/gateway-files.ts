// Files of Envoy Gateway and Istio in the cache folder: their CustomResourceDefinitions, and what Envoy Gateway's own
// tests expect it to render and to send.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { toolsFolder } from "../processes/tools.ts";
import { type GatewayResources, mapTree, webCluster, withProtoNames, type YamlObject } from "./mesh-page.ts";

/** The versions that the set-up of tests fetches. */
const GATEWAY_FOLDER = "envoy-gateway-1.9.1";
const ISTIO_FOLDER = "istio-api-1.31.1";

/** Fields of a rule file that the protocol does not have. */
const FILE_ONLY = new Set(["value_to_metric", "share_threshold"]);

/** The definition of a kind of Envoy Gateway by its plural name. */
export function gatewayCrd(plural: string): string {
  return readFileSync(cachePath(GATEWAY_FOLDER, `generated/gateway.envoyproxy.io_${plural}.yaml`), "utf8");
}

/** The definition of EnvoyFilter. */
export function envoyFilterCrd(): string {
  const definitions = readFileSync(cachePath(ISTIO_FOLDER, "customresourcedefinitions.gen.yaml"), "utf8");
  const found = definitions.split(/^---$/m).find((text) => text.includes("name: envoyfilters.networking.istio.io"));
  if (found === undefined) throw new Error(`${ISTIO_FOLDER} has no EnvoyFilter`);
  return found;
}

/** The path of the rate limit Deployment that Envoy Gateway renders by default. */
export function gatewayDeployment(): string {
  return cachePath(GATEWAY_FOLDER, "deployments/default.yaml");
}

/** The statistics mapping that Envoy Gateway mounts into rate limit pods. */
export function gatewayStatisticsMapping(): string {
  const configMap = parse(readFileSync(cachePath(GATEWAY_FOLDER, "envoy-ratelimit-configmap.yaml"), "utf8")) as {
    readonly data: { readonly "conf.yaml": string };
  };
  return configMap.data["conf.yaml"];
}

/** Each set of configurations that Envoy Gateway's tests expect its discovery server to send, by file name. */
export function gatewayRateLimitConfigs(): ReadonlyMap<string, readonly unknown[]> {
  const folder = cachePath(GATEWAY_FOLDER, "ratelimit-config");
  const files = readdirSync(folder).filter((file) => !file.endsWith(".routes.yaml"));
  return new Map(files.map((file) => [file, readConfigs(join(folder, file))]));
}

/** The resources that Envoy Gateway's tests expect it to send to proxies, of one case. */
export function gatewayResources(name: string): GatewayResources & { readonly clusters: readonly YamlObject[] } {
  const read = (kind: string): YamlObject[] => {
    const text = readFileSync(cachePath(GATEWAY_FOLDER, `xds-ir/${name}.${kind}.yaml`), "utf8");
    return withProtoNames(parse(text)) as YamlObject[];
  };
  return { listener: read("listeners")[0]!, routes: read("routes")[0]!, clusters: read("clusters") };
}

/** An Envoy configuration of what a proxy gets from Envoy Gateway, without its discovery server. */
export function gatewayEnvoyConfig({
  listener,
  routes,
  clusters,
}: GatewayResources & { readonly clusters: readonly YamlObject[] }): unknown {
  const withRoutes = mapTree(listener, ({ rds, ...value }) =>
    rds === undefined ? value : { ...value, route_config: routes },
  );
  // Endpoints come from discovery; the upstream is in their place.
  const local = clusters.map((cluster) => (cluster["type"] === "EDS" ? webCluster(String(cluster["name"])) : cluster));
  return { static_resources: { listeners: [withRoutes], clusters: local } };
}

/** The same with the proxy's certificate from files of a folder, in place of its discovery server and `/certs`. */
export function withGatewayFiles(config: unknown, folder: string): unknown {
  const certificate = {
    certificate_chain: { filename: `${folder}/tls.crt` },
    private_key: { filename: `${folder}/tls.key` },
  };
  return mapTree(config, ({ tls_certificate_sds_secret_configs: sds, ...value }) => {
    if (sds !== undefined) return { ...value, tls_certificates: [certificate] };
    return value["filename"] === "/certs/ca.crt" ? { filename: `${folder}/ca.crt` } : value;
  });
}

function readConfigs(path: string): readonly unknown[] {
  return parseAllDocuments(readFileSync(path, "utf8"))
    .map((document) => document.toJS() as unknown)
    .filter((config) => config !== null)
    .map((config) =>
      mapTree(config, (value) => Object.fromEntries(Object.entries(value).filter(([key]) => !FILE_ONLY.has(key)))),
    );
}

function cachePath(folder: string, path: string): string {
  return join(toolsFolder(), folder, path);
}
