// Does for the pods of a test cluster what a kubelet does: brings their Secrets into folders and keeps these
// current, and runs their containers as processes of this machine.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv } from "@weir/dev/setup/programs";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { eventually } from "../processes/eventually.ts";
import type { KubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";
import { containerEnvironment } from "../kubernetes/container-environment.ts";
import { MountedSecret } from "../kubernetes/mounted-secret.ts";
import { reservePorts } from "../processes/reserve-ports.ts";

import { Pod } from "./pod.ts";
import { type Env, startPlanned } from "../processes/programs.ts";

/** Time between two looks at the Secrets, in milliseconds. */
const INTERVAL_MS = 300;

/** The Secrets that the operator makes. */
const LIST = ["get", "secrets", "-A", "-l", "app.kubernetes.io/managed-by=weir-operator", "--output=json"];

/** Keys of a Secret by the names of their files. */
type Items = Readonly<Record<string, string>>;

/** The files of a Secret with one pair. */
const PAIR: Items = { "tls.crt": "tls.crt", "tls.key": "tls.key", "ca.crt": "ca.crt" };

interface Mount {
  /** `namespace/name` of the Secret. */
  readonly secret: string;
  readonly items: Items;
  readonly folder: string;
  mounted?: { readonly files: MountedSecret; text: string };
}

/**
 * The kubelet of all pods. Other than the nodes in harness/src/nodes it starts and restarts nothing by itself: tests decide
 * what has not started yet, and what is lost and stays lost.
 */
export class Kubelet {
  readonly #cluster: KubernetesCluster;
  readonly #mounts = new Map<string, Mount>();
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;

  constructor(cluster: KubernetesCluster) {
    this.#cluster = cluster;
    this.#ended = this.#follow();
  }

  /** Brings the Secret into the folder, as soon as it exists; returns the folder. */
  mount(secret: string, folder: string, items = PAIR): string {
    if (!this.#mounts.has(folder)) this.#mounts.set(folder, { secret, items, folder });
    return folder;
  }

  /** Resolves when the Secret is in the folder. */
  async mounted(folder: string): Promise<void> {
    await eventually(`the files in ${folder}`, () => {
      const mount = this.#mounts.get(folder);
      if (mount?.mounted === undefined) throw new Error(`the Secret ${mount?.secret} is missing`);
    });
  }

  /**
   * Runs the first container of a pod (again): its command with its environment, on ports of its own.
   * `env` is what differs because cluster DNS and Services do not exist on this machine.
   */
  async run(pod: Mapping, env: Env): Promise<Pod> {
    const { name, namespace } = fieldsOf(pod["metadata"]);
    const folder = join(this.#cluster.folder, `pod-${String(name)}`);
    const spec = fieldsOf(pod["spec"]);
    const [container = {}] = mappingsOf(spec["containers"]);
    for (const volume of mappingsOf(spec["volumes"])) {
      const mount = mappingsOf(container["volumeMounts"]).find((each) => each["name"] === volume["name"]);
      const { items, ...secret } = fieldsOf(volume["secret"]);
      const secretName = textOf(secret["secretName"]);
      if (mount === undefined || secretName === undefined) continue;
      const keys = mappingsOf(items).map(({ key, path }) => [String(path), String(key)] as const);
      const path = join(folder, String(mount["mountPath"]));
      await this.mounted(this.mount(`${String(namespace)}/${secretName}`, path, Object.fromEntries(keys)));
    }
    const [http = 0, grpc = 0, debug = 0, metrics = 0] = await reservePorts(4);
    const [command] = container["command"] as readonly string[];
    const program = await startPlanned({
      name: String(name),
      launcher: String(command),
      readyUrl: `http://${STACK_HOST}:${debug}/`,
      env: {
        // eslint-disable-next-line no-restricted-syntax -- the program needs the PATH of the machine
        ...machineEnv(process.env),
        ...containerEnvironment(pod, container, folder),
        ...{ HOST: STACK_HOST, PORT: String(http), GRPC_HOST: STACK_HOST, GRPC_PORT: String(grpc) },
        ...{ DEBUG_HOST: STACK_HOST, DEBUG_PORT: String(debug), PULLSTATS_ADDR: `${STACK_HOST}:${metrics}` },
        ...env,
      },
    });
    return new Pod(program, grpc, `http://${STACK_HOST}:${http}`);
  }

  /** Ends the work; the files stay. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#ended;
  }

  async #follow(): Promise<void> {
    while (!this.#end.signal.aborted) {
      if (this.#mounts.size > 0) {
        const { code, stdout } = await this.#cluster.kubectl(LIST);
        // What fails is tried again: the API server may be away for a moment.
        if (code === 0) this.#update(mappingsOf(fieldsOf(JSON.parse(stdout))["items"]));
      }
      await delay(INTERVAL_MS);
    }
  }

  #update(secrets: readonly Mapping[]): void {
    const dataOf = new Map<string, Mapping>(
      secrets.map((secret) => {
        const { namespace, name } = fieldsOf(secret["metadata"]);
        return [`${String(namespace)}/${String(name)}`, fieldsOf(secret["data"])] as const;
      }),
    );
    for (const mount of this.#mounts.values()) {
      const data = dataOf.get(mount.secret);
      const entries = Object.entries(mount.items).map(([file, key]) => [file, textOf(data?.[key])] as const);
      if (entries.some(([, value]) => value === undefined)) continue; // A kubelet keeps the files too.
      const values = entries.map(([file, value = ""]) => [file, Buffer.from(value, "base64").toString()] as const);
      updateMount(mount, Object.fromEntries(values));
    }
  }
}

function updateMount(mount: Mount, values: Readonly<Record<string, string>>): void {
  const text = JSON.stringify(values);
  if (mount.mounted === undefined) mount.mounted = { files: new MountedSecret(values, mount.folder), text };
  else if (mount.mounted.text !== text) {
    mount.mounted.files.replace(values);
    mount.mounted.text = text;
  }
}
