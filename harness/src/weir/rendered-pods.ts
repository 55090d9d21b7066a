// Runs the pods of a rendered Deployment as processes of this machine: command, environment, mounted files, ports
// and readiness probe are those of its template. Each pod has an address of its own.
import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { machineEnv, type ProgramPlan } from "@weir/dev/setup/programs";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { MountedSecret } from "../kubernetes/mounted-secret.ts";
import { type Env, startPlanned } from "../processes/programs.ts";

/** What the pods find on this machine. */
export interface PodPlace {
  /** Where the files of the pods are. */
  readonly folder: string;
  /** Values of Secrets, by the name of the Secret and the key. */
  readonly secrets: Readonly<Record<string, Env>>;
  /** Variables of the container that hold the address to listen on. */
  readonly hostVariables: readonly string[];
}

/** A running pod. */
export interface RenderedPod {
  /** The process that was started last. */
  process: ProcessGroup;
  /** How it is started. */
  readonly plan: ProgramPlan;
  readonly address: string;
  /** `host:port` of a port of the container, by its name. */
  at(portName: string): string;
}

/**
 * Starts as many pods as the Deployment has replicas, and resolves when they are ready. It needs no cluster, whose start
 * with the nodes of harness/src/nodes takes longer than these pods.
 */
export async function startRenderedPods(deployment: Mapping, place: PodPlace): Promise<readonly RenderedPod[]> {
  const { replicas } = fieldsOf(deployment["spec"]);
  return await Promise.all(
    Array.from({ length: Number(replicas) }, (_, index) => startRenderedPod(deployment, place, index)),
  );
}

async function startRenderedPod(deployment: Mapping, place: PodPlace, index: number): Promise<RenderedPod> {
  const template = fieldsOf(fieldsOf(deployment["spec"])["template"]);
  const spec = fieldsOf(template["spec"]);
  const [container = {}] = mappingsOf(spec["containers"]);
  const { name } = fieldsOf(deployment["metadata"]);
  // The loopback network has these addresses without any set-up.
  const address = ["127", 64 + randomInt(128), randomInt(256), 1 + randomInt(254)].join(".");
  const folder = join(place.folder, `${String(name)}-${index}-${address}`);
  const paths = mountVolumes(spec, container, { ...place, folder });
  const ports = new Map(mappingsOf(container["ports"]).map((port) => [port["name"], Number(port["containerPort"])]));
  const at = (portName: string): string => {
    const port = ports.get(portName);
    if (port === undefined) throw new Error(`the container has no port ${portName}`);
    return `${address}:${port}`;
  };
  const { path, port } = fieldsOf(fieldsOf(container["readinessProbe"])["httpGet"]);
  const [command] = container["command"] as readonly string[];
  const plan: ProgramPlan = {
    name: `${String(name)}-${index}`,
    launcher: String(command),
    readyUrl: `http://${at(String(port))}${String(path)}`,
    env: {
      ...machineEnv(globalThis.process.env),
      ...environmentOf(container, paths),
      ...Object.fromEntries(place.hostVariables.map((variable) => [variable, address])),
    },
  };
  return { process: await startPlanned(plan), plan, address, at };
}

/** Makes the folders of the volumes that the container mounts; returns them by their path in the container. */
function mountVolumes(spec: Mapping, container: Mapping, place: PodPlace): ReadonlyMap<string, string> {
  const folders = mappingsOf(container["volumeMounts"]).map((mount): [string, string] => {
    const volume = mappingsOf(spec["volumes"]).find((each) => each["name"] === mount["name"]);
    const mountPath = String(mount["mountPath"]);
    const folder = join(place.folder, mountPath);
    const { secretName: rawName, items } = fieldsOf(volume?.["secret"]);
    const secretName = textOf(rawName);
    if (secretName === undefined) mkdirSync(folder, { recursive: true });
    else {
      const values = place.secrets[secretName];
      const files = mappingsOf(items).map((item): [string, string] => {
        const value = values?.[String(item["key"])];
        if (value === undefined) throw new Error(`the Secret ${secretName} has no ${String(item["key"])}`);
        return [String(item["path"]), value];
      });
      new MountedSecret(Object.fromEntries(files), folder);
    }
    return [mountPath, folder];
  });
  return new Map(folders);
}

function environmentOf(container: Mapping, paths: ReadonlyMap<string, string>): Env {
  const variables = mappingsOf(container["env"]).map(({ name, value }): [string, string] => {
    const text = textOf(value);
    if (text === undefined) throw new Error(`the variable ${String(name)} has no value`);
    const mount = [...paths].find(([path]) => text === path || text.startsWith(`${path}/`));
    return [String(name), mount === undefined ? text : mount[1] + text.slice(mount[0].length)];
  });
  return Object.fromEntries(variables);
}
