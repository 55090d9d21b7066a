// A whole Weir for a test: the real control plane over a folder of manifests or an API server, with mutual TLS, and
// any number of real rate limit pods, in one temporary folder on free ports.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { RolloutState } from "@weir/dev/output/rollout-state";
import type { LimitsCluster } from "../kubernetes/limits-cluster.ts";
import { type Pod, startPod } from "./pod.ts";
import { anyPorts, type Env } from "../processes/programs.ts";
import {
  makeCertificates,
  type Replica,
  type ReplicaCertificates,
  type ReplicaPlace,
  startReplica,
} from "./replica.ts";

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

/** A rule in a manifest. */
export interface Rule {
  readonly key: string;
  readonly value?: string;
  readonly rateLimit?:
    | { readonly unlimited: true }
    | {
        readonly unit: string;
        readonly requestsPerUnit: number;
        readonly name?: string;
        readonly replaces?: readonly { readonly name: string }[];
      };
  readonly shadowMode?: boolean;
  readonly descriptors?: readonly Rule[];
}

/** The text of a manifest for one domain; of the namespace `default` and for every fleet by default. */
export function manifestOf(
  name: string,
  domain: string,
  descriptors: readonly Rule[],
  { namespace, fleets }: { readonly namespace?: string; readonly fleets?: readonly string[] | undefined } = {},
): string {
  return stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { name, namespace },
    spec: { domain, fleets, descriptors },
  });
}

/** The text of a manifest for the domain of its name: so many requests of each user a year. */
export function limitManifest(name: string, requestsPerUnit: number): string {
  return manifestOf(name, name, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]);
}

/** Writes a manifest in one step, as an editor that saves by renaming does. */
export function saveManifest(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** Options of {@link startWeir}. */
export interface WeirOptions {
  /** Texts of manifests by file name, in the folder that the control plane serves. */
  readonly manifests?: Readonly<Record<string, string>>;
  /** The API server that it serves instead, under its own account. */
  readonly cluster?: LimitsCluster;
  /** Port of a proxy of that API server. */
  readonly apiServerPort?: number;
  /** Further environment variables of the control plane. */
  readonly controlPlaneEnv?: Env;
}

/** Starts a control plane with its files in `folder`; the test starts pods. */
export async function startWeir(
  folder: string,
  { manifests = {}, cluster, apiServerPort, controlPlaneEnv = {} }: WeirOptions = {},
): Promise<Weir> {
  const manifestFolder = join(folder, "manifests");
  mkdirSync(manifestFolder, { recursive: true });
  for (const [file, text] of Object.entries(manifests)) saveManifest(manifestFolder, file, text);
  const kubeconfig = join(folder, "kubeconfig");
  await cluster?.writeKubeconfig(kubeconfig, apiServerPort);
  const source = cluster && { SOURCE: "kubernetes", SOURCE_DIRECTORY: "", KUBECONFIG: kubeconfig };
  const certificates = await makeCertificates(folder);
  const place = { ports: await anyPorts(), certificates, manifests: manifestFolder };
  const env = { ...source, ...controlPlaneEnv };
  return new Weir(place, env, await startReplica(place, env));
}

/** A place whose ports are known. */
type WeirPlace = ReplicaPlace & Required<Pick<ReplicaPlace, "ports">>;

/** A running control plane, with the pods that the test starts. */
export class Weir {
  /** The control plane that was started last. */
  controlPlane: Replica;
  readonly #place: WeirPlace;
  readonly #controlPlaneEnv: Env;
  readonly #pods: Pod[] = [];

  constructor(place: WeirPlace, controlPlaneEnv: Env, controlPlane: Replica) {
    this.#place = place;
    this.#controlPlaneEnv = controlPlaneEnv;
    this.controlPlane = controlPlane;
  }

  /** Writes a manifest in one step, as an editor that saves by renaming does. */
  writeManifest(file: string, text: string): void {
    saveManifest(this.#place.manifests, file, text);
  }

  /** Empties the file and writes it again, as other editors do. */
  overwriteManifest(file: string, text: string): void {
    writeFileSync(join(this.#place.manifests, file), text);
  }

  /** Deletes a manifest. */
  removeManifest(file: string): void {
    rmSync(join(this.#place.manifests, file));
  }

  /** Starts a pod with further environment variables. */
  async startPod(env: Env = {}): Promise<Pod> {
    const pod = await startPod(this.#place, env);
    this.#pods.push(pod);
    return pod;
  }

  /** Kills the control plane as a crash would. */
  async killControlPlane(): Promise<void> {
    this.controlPlane.process.kill();
    await this.controlPlane.process.exited;
  }

  /** Starts the control plane again, at its old address. */
  async startControlPlane(): Promise<void> {
    this.controlPlane = await startReplica(this.#place, this.#controlPlaneEnv);
  }

  get certificates(): ReplicaCertificates {
    return this.#place.certificates;
  }

  /** The control plane's status of manifests and pods. */
  status(): Promise<RolloutState> {
    return this.controlPlane.status();
  }

  /** Stops the pods, then the control plane. */
  async stop(): Promise<void> {
    for (const pod of this.#pods.toReversed()) await pod.process.stop("SIGTERM", STOP_GRACE_MS);
    await this.controlPlane.process.stop("SIGTERM", STOP_GRACE_MS);
  }
}
