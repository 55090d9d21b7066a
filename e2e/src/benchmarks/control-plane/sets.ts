// Sets of resources, as the benchmark of the control plane makes them: files in a folder, or
// objects of a real API server.
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { stopOnceStarted } from "./server.ts";

/** Characters of the value of a long rule. */
const LONG_VALUE_LENGTH = 1000;

/** Objects that are written to the API server before the next ones are made up. */
const BATCH = 200;

/** How large a set of resources is. */
export interface SetSize {
  readonly resources: number;
  /** Rules with values of a thousand characters, in each resource. */
  readonly longRules: number;
}

/** A set that is there. */
export interface ResourceSet {
  /** The settings of a control plane that is to serve it. */
  readonly source: Readonly<Record<string, string>>;
  /**
   * Gives one resource another limit. Of a folder it is done immediately, of a cluster when the API
   * server has it.
   */
  write(index: number, requestsPerUnit: number): void | Promise<void>;
}

/**
 * Makes a set in a new folder below `parent`: one resource in each file, a hundred files in each
 * folder.
 */
export function makeFolderSet(parent: string, { resources, longRules }: SetSize): ResourceSet {
  const folder = mkdtempSync(join(parent, "set-"));
  // As an editor that saves by renaming does.
  const write = (index: number, requestsPerUnit: number): void => {
    const path = join(folder, `team-${Math.floor(index / 100)}`, `limits-${index}.yaml`);
    writeFileSync(`${path}.new`, manifestText(index, { requestsPerUnit, longRules }));
    renameSync(`${path}.new`, path);
  };
  for (let index = 0; index < resources; index++) {
    if (index % 100 === 0) mkdirSync(join(folder, `team-${Math.floor(index / 100)}`));
    write(index, 1);
  }
  return { source: { SOURCE: "directory", SOURCE_DIRECTORY: folder }, write };
}

/**
 * Starts an API server and makes a set in it. The control plane reads it under the account and with
 * the rights that it has anywhere.
 */
export async function makeClusterSet(
  { folder, onStarted }: { readonly folder: string; readonly onStarted: (stop: () => Promise<void>) => void },
  { resources, longRules }: SetSize,
  startCluster: typeof startLimitsCluster = startLimitsCluster,
): Promise<ResourceSet> {
  const starting = startCluster();
  // Known before it is there: an interrupted start leaves no server running. A start that fails is
  // reported once, below: a stop that failed with it would end the benchmark before it has printed
  // what it measured.
  onStarted(stopOnceStarted(starting));
  const limits = await starting;
  const write = (index: number, requestsPerUnit: number): Promise<void> =>
    limits.apply(`limits-${index}`, manifestText(index, { requestsPerUnit, longRules }));
  for (let first = 0; first < resources; first += BATCH) {
    const batch = Math.min(BATCH, resources - first);
    await Promise.all(Array.from({ length: batch }, (_, index) => write(first + index, 1)));
  }
  const kubeconfig = join(mkdtempSync(join(folder, "cluster-")), "kubeconfig");
  await limits.writeKubeconfig(kubeconfig);
  return { source: { SOURCE: "kubernetes", KUBECONFIG: kubeconfig }, write };
}

/** The manifest of one resource of a set. */
export function manifestText(
  index: number,
  content: { readonly requestsPerUnit: number; readonly longRules: number },
): string {
  const longRules = Array.from({ length: content.longRules }, (_, rule) => {
    const value = String(rule).padEnd(LONG_VALUE_LENGTH, "x");
    return `    - { key: path, value: ${value}, rateLimit: { unit: hour, requestsPerUnit: 100 } }\n`;
  });
  return `apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata:
  name: limits-${index}
spec:
  domain: domain-${index}
  descriptors:
    - { key: user, rateLimit: { unit: minute, requestsPerUnit: ${content.requestsPerUnit} } }
${longRules.join("")}`;
}
