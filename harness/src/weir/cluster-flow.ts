// The configuration flow from a real Kubernetes API server: kubectl → API server → control plane under
// its own account → mutual TLS → a real pod.
import { join } from "node:path";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";
import { type Flow, manifestOf, startFlow } from "./flow.ts";
import { type LimitsCluster, startLimitsCluster } from "../kubernetes/limits-cluster.ts";
import type { Pod } from "./pod.ts";

/** Starts everything, with a limit of two a year for the domain `mail`. */
export async function startClusterFlow(): Promise<ClusterFlow> {
  const folder = makeTemporaryFolder();
  const stops: (() => Promise<void> | void)[] = [() => folder.remove()];
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each();
  };
  try {
    const limits = await startLimitsCluster();
    stops.push(() => limits.stop());
    const kubeconfig = join(folder.path, "kubeconfig");
    await limits.writeKubeconfig(kubeconfig);
    // By the manager that changes it in tests: an apply removes no rules of another manager.
    await limits.apply("mail", limitManifest("mail", 2));
    const env = { SOURCE: "kubernetes", SOURCE_DIRECTORY: "", KUBECONFIG: kubeconfig };
    const flow = await startFlow(folder.path, {}, { controlPlaneEnv: env });
    stops.push(() => flow.stop());
    return new ClusterFlow({ limits, flow, pod: await flow.startPod(), stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The running flow. */
export class ClusterFlow {
  readonly limits: LimitsCluster;
  readonly flow: Flow;
  readonly pod: Pod;
  /** Ends everything in reverse order. */
  readonly stop: () => Promise<void>;

  constructor({ limits, flow, pod, stop }: Pick<ClusterFlow, "limits" | "flow" | "pod" | "stop">) {
    this.limits = limits;
    this.flow = flow;
    this.pod = pod;
    this.stop = stop;
  }

  /** Applies a resource for the domain of its name with kubectl: so many requests of each user a year. */
  async apply(name: string, requestsPerUnit: number): Promise<void> {
    const args = ["apply", "--namespace=shop", "-f", "-"];
    const { code, stderr } = await this.limits.cluster.kubectl(args, limitManifest(name, requestsPerUnit));
    if (code !== 0) throw new Error(`kubectl apply failed: ${stderr.trim()}`);
  }

  /** Status codes of three requests of a user for `mail`, one after the other. */
  async askThrice(user: string): Promise<readonly number[]> {
    const codes: number[] = [];
    for (let asked = 1; asked <= 3; asked += 1) codes.push(await this.pod.ask("mail", { user }));
    return codes;
  }

  /** The limit of a domain in a pod; undefined if there is none. */
  limitOf(domain: string, pod = this.pod): Promise<number | undefined> {
    return pod.limitOf(domain, { user: "probe" });
  }
}

function limitManifest(name: string, requestsPerUnit: number): string {
  return manifestOf(name, name, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]);
}
