// Releases of charts in a real cluster: of this tree, in a later version, and of the previous version of the charts.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { earlierFiles, previousVersion } from "@weir/harness/weir/earlier-commit";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { expect } from "vitest";
import { CHARTS, helm, type HelmVersion } from "@weir/harness/helm/helm";
import type { ProgramResult } from "@weir/harness/processes/run-to-end";

/** The version of the charts of this tree in the tests: the versions of the charts differ only from release to release. */
const VERSION = "99.0.0";

/** Folder of the previous version of the charts. */
export async function previousCharts(): Promise<string> {
  const root = join(CHARTS, "..");
  const { folder } = await earlierFiles(await previousVersion(root), { root, path: "charts" });
  return join(folder, "charts");
}

/** The releases of one namespace. */
export class Releases {
  readonly #cluster: KubernetesCluster;
  readonly #namespace: string;
  readonly #version: HelmVersion;

  constructor(cluster: KubernetesCluster, namespace: string, version: HelmVersion) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#version = version;
  }

  /** Runs helm. */
  async helm(...args: readonly string[]): Promise<ProgramResult> {
    const place = ["--namespace", this.#namespace, "--kubeconfig", this.#cluster.kubeconfigPath];
    return await helm([...args, ...place], undefined, { version: this.#version });
  }

  /** Runs helm, which must not fail. */
  async succeed(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.helm(...args);
    expect({ args, code }, stderr).toEqual({ args, code: 0 });
  }

  /** Returns what kubectl prints of an object; it must exist. */
  async get(what: string, path: string): Promise<string> {
    return await this.#cluster.run(["get", what, "-n", this.#namespace, "-o", `jsonpath=${path}`]);
  }

  /** The replicas of a Deployment, which `--wait` has seen ready, and the chart that made it. */
  async deployment(name: string): Promise<string> {
    const replicas = await this.get(`deployment/${name}`, "{.spec.replicas}");
    return `${replicas} ${await this.chartOf(`deployment/${name}`)}`;
  }

  /** Name and version of the chart that made an object. */
  async chartOf(what: string): Promise<string> {
    return await this.get(what, String.raw`{.metadata.labels.helm\.sh/chart}`);
  }

  /** A copy of a chart of this tree, in a later version than any. */
  nextVersion(chart: string): string {
    const copy = join(this.#cluster.folder, `${chart}-next`);
    cpSync(join(CHARTS, chart), copy, { recursive: true });
    const path = join(copy, "Chart.yaml");
    writeFileSync(path, readFileSync(path, "utf8").replace(/^version: .*$/m, `version: ${VERSION}`));
    return copy;
  }
}

/** The version of the chart in `folder`. */
export function chartVersion(folder: string): string {
  return /^version: (.*)$/m.exec(readFileSync(join(folder, "Chart.yaml"), "utf8"))?.[1] ?? "";
}
