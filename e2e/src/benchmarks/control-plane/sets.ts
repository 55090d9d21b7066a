// Sets of resources, as the benchmarks of the control plane and of the operator make them: files in a folder, or
// objects of a real API server.
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";

import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { saveManifest } from "@weir/harness/weir/weir";
import type { Bench } from "../run-benchmark.ts";

/** Characters of the value of a long rule. */
const LONG_VALUE_LENGTH = 1000;

/** Objects that are written to the API server before the next ones are made up. */
const BATCH = 200;

/** How large a set of resources is. */
export interface SetSize {
  readonly resources: number;
  /** Rules with values of a thousand characters, in each resource. */
  readonly longRules: number;
  /** The resources are in so many namespaces; undefined: all in one. */
  readonly namespaces?: number;
  /** Every second resource is for one of so many fleets, the others for all; undefined: all are for all. */
  readonly fleets?: number;
}

/** Gives one resource another limit. In a folder it is done immediately, in a cluster when the API server has it. */
export type WriteLimit = (index: number, requestsPerUnit: number) => void | Promise<void>;

/** A set that is there. */
export interface ResourceSet {
  /** The settings of a control plane that is to serve it. */
  readonly source: Readonly<Record<string, string>>;
  readonly write: WriteLimit;
}

/** Makes a set in a new folder below `parent`: one resource in each file, a hundred files in each folder. */
export function makeFolderSet(parent: string, size: SetSize): ResourceSet {
  const folder = mkdtempSync(join(parent, "set-"));
  const write = (index: number, requestsPerUnit: number): void =>
    saveManifest(
      join(folder, `team-${Math.floor(index / 100)}`),
      `limits-${index}.yaml`,
      manifestText(index, requestsPerUnit, size),
    );
  for (let index = 0; index < size.resources; index++) {
    if (index % 100 === 0) mkdirSync(join(folder, `team-${Math.floor(index / 100)}`));
    write(index, 1);
  }
  return { source: { SOURCE: "directory", SOURCE_DIRECTORY: folder }, write };
}

/**
 * Starts an API server and makes a set in it. The control plane reads it under the account and with
 * the rights that it has anywhere.
 */
export async function makeClusterSet({ folder, onStarted }: Bench, size: SetSize): Promise<ResourceSet> {
  const limits = await startLimitsCluster();
  onStarted(() => limits.stop());
  const write = await fillCluster(limits, size);
  const kubeconfig = join(mkdtempSync(join(folder, "cluster-")), "kubeconfig");
  await limits.writeKubeconfig(kubeconfig);
  return { source: { SOURCE: "kubernetes", KUBECONFIG: kubeconfig }, write };
}

/** Makes a set in a cluster, and returns what edits it. */
export async function fillCluster(
  limits: LimitsCluster,
  size: SetSize,
): Promise<(index: number, requestsPerUnit: number) => Promise<void>> {
  const write = (index: number, requestsPerUnit: number): Promise<void> =>
    limits.apply(`limits-${index}`, manifestText(index, requestsPerUnit, size), namespaceOf(index, size));
  const namespaces = Array.from({ length: size.namespaces ?? 0 }, (_, index) => namespaceOf(index, size)!);
  if (namespaces.length > 0) await limits.cluster.createNamespaces(...namespaces);
  for (let first = 0; first < size.resources; first += BATCH) {
    const batch = Math.min(BATCH, size.resources - first);
    await Promise.all(Array.from({ length: batch }, (_, index) => write(first + index, 1)));
  }
  return write;
}

/** The fleet of a pod by its number, for a set with so many fleets. */
export function fleetName(number: number, fleets: number): string {
  return `fleet-${number % fleets}`;
}

function namespaceOf(index: number, { namespaces }: SetSize): string | undefined {
  return namespaces === undefined ? undefined : `team-${index % namespaces}`;
}

function manifestText(index: number, requestsPerUnit: number, size: SetSize): string {
  const { longRules, fleets } = size;
  const namespace = namespaceOf(index, size);
  const rules = Array.from({ length: longRules }, (_, rule) => {
    const value = String(rule).padEnd(LONG_VALUE_LENGTH, "x");
    return `    - { key: path, value: ${value}, rateLimit: { unit: hour, requestsPerUnit: 100 } }\n`;
  });
  return `apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata:
  name: limits-${index}${namespace === undefined ? "" : `\n  namespace: ${namespace}`}
spec:
  domain: domain-${index}${fleets === undefined || index % 2 === 0 ? "" : `\n  fleets: [${fleetName((index - 1) / 2, fleets)}]`}
  descriptors:
    - { key: user, rateLimit: { unit: minute, requestsPerUnit: ${requestsPerUnit} } }
${rules.join("")}`;
}
