// Runs the container of a real pod object as a process on this machine, as a kubelet would: its command
// with its environment, its Secrets as files.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { containerEnvironment } from "@weir/harness/kubernetes/container-environment";
import { MountedSecret } from "@weir/harness/kubernetes/mounted-secret";
import { eventually } from "@weir/harness/processes/eventually";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** The sources of each program, by its name in images. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "weir-ratelimit": join(import.meta.dirname, "../../../ratelimit/src/main.ts"),
  "weir-control-plane": join(import.meta.dirname, "../../../control-plane/src/main.ts"),
};

/** The pods of a test share the address of this machine, so each takes free ports. */
const LISTENERS: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "0",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "0",
  PULLSTATS_ADDR: "127.0.0.1:0",
};

/** A program of this repository that runs from its sources. */
export class ProgramProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = "";

  constructor(name: string, env: Readonly<Record<string, string>>) {
    const program = PROGRAMS[name] ?? name;
    this.#child = spawn(process.execPath, ["--conditions=source", program], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = once(this.#child, "close");
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  /** Waits until its output matches, and returns the first group. */
  async find(pattern: RegExp): Promise<string> {
    return await eventually(`${String(pattern)} in the output`, () => {
      const found = pattern.exec(this.#output)?.[1];
      if (found === undefined) throw new Error(this.#output);
      return found;
    });
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

/** A running pod. */
export class PodProcess extends ProgramProcess {
  readonly #folder: string;

  private constructor(folder: string, name: string, env: Readonly<Record<string, string>>) {
    super(name, env);
    this.#folder = folder;
  }

  /** Runs a pod of the cluster, in which its Secrets are. */
  static async start(cluster: KubernetesCluster, pod: Mapping): Promise<PodProcess> {
    const folder = mkdtempSync(join(tmpdir(), "weir-pod-"));
    const spec = fieldsOf(pod["spec"]);
    const [container = {}] = mappingsOf(spec["containers"]);
    const mounts = mappingsOf(container["volumeMounts"]);
    for (const volume of mappingsOf(spec["volumes"])) {
      const mount = mounts.find(({ name }) => name === volume["name"]);
      if (mount !== undefined)
        await mountSecret(cluster, pod, { volume, path: join(folder, String(mount["mountPath"])) });
    }
    const [command = ""] = container["command"] as readonly string[];
    return new PodProcess(folder, command, { ...containerEnvironment(pod, container, folder), ...LISTENERS });
  }

  override async stop(): Promise<void> {
    await super.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function mountSecret(
  cluster: KubernetesCluster,
  pod: Mapping,
  { volume, path }: { readonly volume: Mapping; readonly path: string },
): Promise<MountedSecret> {
  const { secretName, items } = fieldsOf(volume["secret"]);
  const namespace = String(fieldsOf(pod["metadata"])["namespace"]);
  const { stdout } = await cluster.kubectl(["get", "secret", String(secretName), "-n", namespace, "--output=json"]);
  const data = fieldsOf(fieldsOf(JSON.parse(stdout))["data"]);
  const files = mappingsOf(items).map((item) => {
    const value = data[String(item["key"])];
    if (typeof value !== "string") throw new Error(`Secret ${String(secretName)} has no key ${String(item["key"])}`);
    return [String(item["path"]), Buffer.from(value, "base64").toString()] as const;
  });
  return new MountedSecret(Object.fromEntries(files), path);
}
