// The programs that make objects act in a cluster of tests: kube-controller-manager, kube-scheduler,
// and kwok, which plays nodes.
import { join } from "node:path";

import { reservePorts } from "../processes/reserve-ports.ts";
import { ServerProcess } from "../processes/server-process.ts";

/** Nodes that kwok plays. */
const NODE_COUNT = 2;

/** Folders of the programs, and of the files that they start with. */
export interface ControllerParts {
  /** Folder of the built programs. */
  readonly programs: string;
  /** Folder of the cluster: `ca.crt`, `accounts.key`, `kubeconfig`, and the logs. */
  readonly folder: string;
}

/**
 * The three programs, not started; without kwok two. They may do everything. kwok reports each scheduled pod
 * as running and ready a moment later, at an address that no process listens on.
 */
export async function createControllers(
  { programs, folder }: ControllerParts,
  hasKwok = true,
): Promise<readonly ServerProcess[]> {
  const [managerPort = 0, schedulerPort = 0, kwokPort = 0] = await reservePorts(3);
  const file = (name: string): string => join(folder, name);
  const kubeconfig = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"].map(
    (name) => `--${name}=${file("kubeconfig")}`,
  );
  const serving = (name: string, port: number): readonly string[] => [
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${file(name)}`,
    "--leader-elect=false",
  ];
  const argumentsOf: Readonly<Record<string, readonly string[]>> = {
    "kube-controller-manager": [
      ...kubeconfig,
      ...serving("kube-controller-manager", managerPort),
      `--service-account-private-key-file=${file("accounts.key")}`,
      `--root-ca-file=${file("ca.crt")}`,
      // On a busy machine kwok may be late, and nothing makes the pods of a lost node ready again.
      "--node-monitor-grace-period=1h",
    ],
    "kube-scheduler": [...kubeconfig, ...serving("kube-scheduler", schedulerPort)],
    ...(hasKwok && {
      kwok: [
        `--kubeconfig=${file("kubeconfig")}`,
        "--manage-all-nodes=true",
        "--node-ip=127.0.0.1",
        `--server-address=127.0.0.1:${kwokPort}`,
      ],
    }),
  };
  return Object.entries(argumentsOf).map(([name, args]) => clusterProgram({ programs, folder }, name, args));
}

/** A program of the cluster, not started, with its log in the folder. */
export function clusterProgram(
  { programs, folder }: ControllerParts,
  name: string,
  args: readonly string[],
): ServerProcess {
  return new ServerProcess({ name, command: join(programs, name), args, logPath: join(folder, `${name}.log`) });
}

/** The manifests of the nodes, as JSON, which is YAML too. */
export function nodeManifests(): string {
  const resources = { cpu: "32", memory: "64Gi", pods: "110" };
  const items = Array.from({ length: NODE_COUNT }, (_, index) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: `node-${index + 1}`, labels: { "kubernetes.io/hostname": `node-${index + 1}` } },
    // kwok writes the condition too; without it nothing else does.
    status: {
      allocatable: resources,
      capacity: resources,
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
    },
  }));
  return items.map((item) => JSON.stringify(item)).join("\n---\n");
}
