// One pod that a node of this machine runs: volumes, init containers, containers, status and end.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { eventually } from "../processes/eventually.ts";

import { Container } from "./container.ts";
import { containerCommand, type ContainerMount } from "./container-root.ts";
import { expand, podEnvironment, type PodPlace } from "./pod-environment.ts";
import { PodVolumes, type VolumeSources } from "./pod-volumes.ts";

/** User of images without a root user. */
const IMAGE_USER = 65_532;

/** Longest wait for Secrets and the like to exist, in milliseconds. */
const VOLUMES_TIMEOUT_MS = 120_000;

/** Lines of output that are kept of a pod. */
const LINES_MAX = 2000;

/** What the node gives its pods. */
export interface PodNode {
  readonly sources: VolumeSources;
  /** Folder of all pods. */
  readonly folder: string;
  /** The file /etc/resolv.conf of pods of the namespace. */
  readonly resolvConf: (namespace: string) => string;
  /** Writes the status of the pod. */
  readonly report: (pod: RunningPod) => void;
}

/** A pod. */
export class RunningPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Mapping;
  readonly address: string;
  readonly containers: readonly Container[];
  /** Its output, oldest first. */
  readonly lines: string[] = [];
  readonly #object: Mapping;
  readonly #place: PodPlace;
  readonly #node: PodNode;
  readonly #folder: string;
  readonly #volumes: PodVolumes;
  readonly #startedAt = new Date().toISOString();
  #ending: Promise<void> | undefined;
  #isInitialized = false;
  #failure = "";

  constructor(object: Mapping, place: PodPlace, node: PodNode) {
    const metadata = fieldsOf(object["metadata"]);
    this.name = String(metadata["name"]);
    this.namespace = String(metadata["namespace"]);
    this.uid = String(metadata["uid"]);
    this.labels = fieldsOf(metadata["labels"]);
    this.address = place.podAddress;
    this.#object = object;
    this.#place = place;
    this.#node = node;
    this.#folder = join(node.folder, this.uid);
    mkdirSync(this.#folder, { recursive: true });
    this.#volumes = new PodVolumes(object, place, node.sources, this.#folder);
    this.containers = mappingsOf(fieldsOf(object["spec"])["containers"]).map((spec) => this.#container(spec));
  }

  /** The container that does the pod's work: the first. */
  get main(): Container {
    return this.containers[0]!;
  }

  get isReady(): boolean {
    return this.#isInitialized && this.containers.every((container) => container.isReady);
  }

  /** Starts it; the containers start when everything that they mount exists. */
  async start(): Promise<void> {
    try {
      const attempt = () => (this.#ending === undefined ? this.#volumes.refresh() : undefined);
      await eventually(`the volumes of ${this.name}`, attempt, VOLUMES_TIMEOUT_MS);
      for (const spec of mappingsOf(fieldsOf(this.#object["spec"])["initContainers"])) {
        const container = this.#container(spec, "OnFailure");
        container.start();
        await container.ended();
      }
      if (this.#ending !== undefined) return;
      this.#isInitialized = true;
      for (const container of this.containers) container.start();
    } catch (error) {
      this.#failure = String(error);
      this.#node.report(this);
    }
  }

  /** Brings the files of its volumes up to date. */
  async refresh(): Promise<void> {
    if (this.#isInitialized && this.#ending === undefined) await this.#volumes.refresh();
  }

  /** Ends it; by default with the grace time of its spec. */
  async stop(graceSeconds?: number): Promise<void> {
    this.#ending ??= Promise.all(this.containers.map((container) => container.stop(graceSeconds))).then(() =>
      rmSync(this.#folder, { recursive: true, force: true }),
    );
    await this.#ending;
  }

  /** Its status, as a kubelet reports it. */
  status(): Mapping {
    const ended = this.containers.every(({ exitCode }) => exitCode !== undefined);
    const failed = this.#failure !== "" || this.containers.some(({ exitCode = 0 }) => exitCode !== 0);
    const condition = (type: string, isTrue: boolean): Mapping => ({ type, status: isTrue ? "True" : "False" });
    return {
      phase:
        this.#failure !== ""
          ? "Failed"
          : !this.#isInitialized
            ? "Pending"
            : !ended
              ? "Running"
              : failed
                ? "Failed"
                : "Succeeded",
      message: this.#failure,
      hostIP: this.#place.nodeAddress,
      podIP: this.address,
      podIPs: [{ ip: this.address }],
      startTime: this.#startedAt,
      conditions: [
        condition("PodScheduled", true),
        condition("Initialized", this.#isInitialized),
        condition("ContainersReady", this.isReady),
        condition("Ready", this.isReady),
      ],
      containerStatuses: this.containers.map((container, index) => this.#containerStatus(container, index)),
    };
  }

  #containerStatus(container: Container, index: number): Mapping {
    const spec = mappingsOf(fieldsOf(this.#object["spec"])["containers"])[index] ?? {};
    const state =
      container.exitCode !== undefined
        ? { terminated: { exitCode: container.exitCode, startedAt: this.#startedAt } }
        : container.process === undefined
          ? { waiting: { reason: "ContainerCreating" } }
          : { running: { startedAt: this.#startedAt } };
    return {
      ...{ name: container.name, image: String(spec["image"]), imageID: "", restartCount: container.restarts },
      ...{ ready: container.isReady, started: container.isStarted, state },
    };
  }

  #container(spec: Mapping, restartPolicy?: "OnFailure"): Container {
    const podSpec = fieldsOf(this.#object["spec"]);
    const root = join(this.#folder, "roots", String(spec["name"]));
    mkdirSync(root, { recursive: true });
    return new Container({
      spec,
      podName: this.name,
      podAddress: this.address,
      restartPolicy: restartPolicy ?? ((podSpec["restartPolicy"] ?? "Always") as "Always" | "OnFailure" | "Never"),
      graceSeconds: Number(podSpec["terminationGracePeriodSeconds"] ?? 30),
      onChange: () => this.#node.report(this),
      onLine: (line) => {
        this.lines.push(line);
        if (this.lines.length > LINES_MAX) this.lines.shift();
      },
      prepare: () => {
        const env = podEnvironment(this.#object, spec, this.#place, this.#node.sources.data);
        const words = [spec["command"], spec["args"]].flatMap((part) => (part ?? []) as readonly string[]);
        const security = { ...fieldsOf(podSpec["securityContext"]), ...fieldsOf(spec["securityContext"]) } as Mapping;
        const command = containerCommand({
          root,
          hostname: textOf(podSpec["hostname"]) ?? this.name,
          mounts: [...this.#volumes.mounts(spec), this.#resolvConf()],
          user: Number(security["runAsUser"] ?? IMAGE_USER),
          group: Number(security["runAsGroup"] ?? IMAGE_USER),
          isRootReadOnly: security["readOnlyRootFilesystem"] === true,
          command: words.map((word) => expand(word, env)),
        });
        return { command, env };
      },
    });
  }

  #resolvConf(): ContainerMount {
    return { source: this.#node.resolvConf(this.namespace), target: "/etc/resolv.conf", isReadOnly: true };
  }
}
