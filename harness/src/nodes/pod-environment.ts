// The environment of a container as a kubelet makes it of its spec, with the two changes that a machine without
// networks of pods needs. This is the only place where a process differs from its Deployment.
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import type { Env } from "../processes/programs.ts";
import { IMAGE_PATH } from "./container-root.ts";

/**
 * Listen addresses of the programs. They default to all addresses, which pods of one machine share; so each listens
 * at the address of its pod, on its own ports.
 */
const LISTEN_HOSTS = [
  ...["HTTP_HOST", "ADS_HOST", "WEBHOOK_HOST"],
  ...["HOST", "GRPC_HOST", "DEBUG_HOST", "METRICS_HOST"],
];

/** Setting of the metrics listener of a rate limit pod, with host and port in one. */
const METRICS_ADDRESS = "PULLSTATS_ADDR";

/** Reads what variables refer to: data of Secrets and ConfigMaps by `namespace/name`. */
export interface ReferencedData {
  /** Undefined when it does not exist. */
  secret(name: string): Env | undefined;
  /** Undefined when it does not exist. */
  configMap(name: string): Env | undefined;
}

/** Values of fields that the API server does not have yet when the container starts. */
export interface PodPlace {
  readonly podAddress: string;
  readonly nodeAddress: string;
  /** The API server. */
  readonly apiServer: URL;
}

/** All variables of the container. Throws when one refers to something that does not exist. */
export function podEnvironment(pod: Mapping, container: Mapping, place: PodPlace, data: ReferencedData): Env {
  const { name, namespace } = fieldsOf(pod["metadata"]);
  const read = new VariableReader(pod, place, data, String(namespace));
  const env: Record<string, string> = {
    PATH: IMAGE_PATH,
    HOME: "/",
    HOSTNAME: String(name),
    KUBERNETES_SERVICE_HOST: place.apiServer.hostname,
    KUBERNETES_SERVICE_PORT: place.apiServer.port,
  };
  for (const source of mappingsOf(container["envFrom"])) Object.assign(env, read.all(source));
  for (const variable of mappingsOf(container["env"])) {
    const value = read.value(variable, container);
    if (value !== undefined) env[String(variable["name"])] = expand(value, env);
  }
  for (const host of LISTEN_HOSTS) env[host] = place.podAddress;
  env[METRICS_ADDRESS] = `${place.podAddress}:${(env[METRICS_ADDRESS] ?? ":9090").split(":").at(-1)}`;
  return env;
}

/** Replaces $(NAME) by the variable of that name, and $$ by $. */
export function expand(text: string, env: Env): string {
  return text.replaceAll(/\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)/g, (whole, name?: string) =>
    name === undefined ? "$" : (env[name] ?? whole),
  );
}

/** The field of a pod at a path such as `metadata.labels['app']`. */
export function podField(pod: Mapping, path: string, place: PodPlace): string {
  const known: Env = {
    "status.podIP": place.podAddress,
    "status.podIPs": place.podAddress,
    "status.hostIP": place.nodeAddress,
  };
  if (known[path] !== undefined) return known[path];
  const [, map = "", key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  const parts = map === "" ? path.split(".") : ["metadata", map, key];
  const value = parts.reduce<unknown>((object, part) => fieldsOf(object)[part], pod);
  return typeof value === "string" ? value : "";
}

class VariableReader {
  readonly #pod: Mapping;
  readonly #place: PodPlace;
  readonly #data: ReferencedData;
  readonly #namespace: string;

  constructor(pod: Mapping, place: PodPlace, data: ReferencedData, namespace: string) {
    this.#pod = pod;
    this.#place = place;
    this.#data = data;
    this.#namespace = namespace;
  }

  all(source: Mapping): Env {
    const [kind, reference] =
      "secretRef" in source ? (["secret", "secretRef"] as const) : (["configMap", "configMapRef"] as const);
    const prefix = textOf(source["prefix"]) ?? "";
    const entries = Object.entries(this.#dataOf(kind, fieldsOf(source[reference])) ?? {});
    return Object.fromEntries(entries.map(([key, value]) => [prefix + key, value]));
  }

  value({ value, valueFrom }: Mapping, container: Mapping): string | undefined {
    const from = fieldsOf(valueFrom);
    if ("fieldRef" in from) return podField(this.#pod, String(fieldsOf(from["fieldRef"])["fieldPath"]), this.#place);
    if ("secretKeyRef" in from) return this.#key("secret", fieldsOf(from["secretKeyRef"]));
    if ("configMapKeyRef" in from) return this.#key("configMap", fieldsOf(from["configMapKeyRef"]));
    if ("resourceFieldRef" in from) {
      const [kind = "", name = ""] = String(fieldsOf(from["resourceFieldRef"])["resource"]).split(".");
      return textOf(fieldsOf(fieldsOf(container["resources"])[kind])[name]) ?? "0";
    }
    return textOf(value) ?? "";
  }

  #key(kind: keyof ReferencedData, reference: Mapping): string | undefined {
    const value = this.#dataOf(kind, reference)?.[String(reference["key"])];
    if (value === undefined && reference["optional"] !== true)
      throw new Error(
        `Cannot start the container: no key ${String(reference["key"])} in ${kind} ${String(reference["name"])}`,
      );
    return value;
  }

  #dataOf(kind: keyof ReferencedData, { name, optional }: Mapping): Env | undefined {
    const data = this.#data[kind](`${this.#namespace}/${String(name)}`);
    if (data === undefined && optional !== true)
      throw new Error(`Cannot start the container: no ${kind} ${String(name)}`);
    return data;
  }
}
