// One replica of the real control plane over a folder of manifests, for tests that need several.
import type { DevelopmentCertificates } from "@weir/dev/certificates";
import { STACK_HOST } from "@weir/dev/ports";
import type { ProcessGroup } from "@weir/dev/process-group";
import { planPrograms } from "@weir/dev/programs";
import type { StackPorts } from "@weir/dev/settings";
import { startPlanned } from "./flow.ts";
import { anyPorts } from "./ports.ts";

/** A running replica. */
export interface Replica {
  readonly ports: StackPorts;
  readonly adsPort: number;
  readonly process: ProcessGroup;
  /** What it says over the rollout API. */
  rollout(): Promise<Rollout>;
}

/** What is read of the rollout API. */
export interface Rollout {
  readonly observedAt: string;
  readonly ready?: boolean;
  readonly source?: { readonly error?: string };
  readonly fleets: readonly {
    readonly name: string;
    readonly version: string;
    readonly pods?: { total?: number; accepted?: number };
  }[];
  readonly resources: readonly { readonly name: string; readonly state: string; readonly reason?: string }[];
  readonly pods?: readonly ReportedPod[];
}

/** What is read of a pod there. */
export interface ReportedPod {
  readonly nodeId: string;
  readonly state: string;
  readonly accepted?: { readonly version: string };
  readonly rejection?: string;
}

/** What replicas have in common, and the ports of this one; free ones when there are none. */
export interface ReplicaPlace {
  readonly certificates: DevelopmentCertificates;
  /** Folder of the manifests. */
  readonly manifests: string;
  readonly ports?: StackPorts;
}

/** Starts a replica with further environment variables, and waits until it is ready. */
export async function startReplica(place: ReplicaPlace, env: Readonly<Record<string, string>> = {}): Promise<Replica> {
  const { certificates, manifests } = place;
  const ports = place.ports ?? (await anyPorts());
  // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the test to find their tools
  const machine = process.env;
  const plan = planPrograms({
    ports,
    certificates,
    sourceDirectory: manifests,
    accountDirectory: manifests,
    machine,
  }).controlPlane;
  const url = `http://${STACK_HOST}:${ports.controlPlaneHttp}/weir.rollout.v1.RolloutService/GetRollout`;
  return {
    ports,
    adsPort: ports.ads,
    process: await startPlanned({ ...plan, env: { ...plan.env, ...env } }),
    rollout: async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      return ((await response.json()) as { readonly rollout: Rollout }).rollout;
    },
  };
}
