// A whole cluster with the built operator and control plane, two of each, under their own accounts and with
// nothing but the rights in operator/rbac and control-plane/rbac. The operator makes every certificate.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { loadAuthority } from "@weir/certificates/authority";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv } from "@weir/dev/setup/programs";
import { eventually } from "../processes/eventually.ts";
import { kubeconfigText } from "../kubernetes/cluster-files.ts";
import { type KubernetesCluster, startKubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";
import { reservePort } from "../processes/reserve-ports.ts";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";

import { auditFlags, type AuditedRequest, readAudit } from "../kubernetes/audit-log.ts";
import { Kubelet } from "./kubelet.ts";
import { machineAddress } from "../kubernetes/machine-address.ts";
import { type Env, ROOT, startPlanned } from "../processes/programs.ts";
import {
  type CuttingProxy as ServiceAddress,
  startCuttingProxy as openServiceAddress,
} from "../servers/cutting-proxy.ts";

const NAMESPACE = "weir-system";
const HEADLESS_SERVICE = "weir-control-plane-headless";

/** Replicas of each program. */
const REPLICAS = [0, 1] as const;

/** Roles for another choice of namespaces than all. */
const OTHER_SCOPES = new Set(["role-binding.yaml", "namespace-reader.yaml"]);

/** How long a replica may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

/** Short, so that the test need not wait long for another leader. */
const LEASE = { LEASE_DURATION: "6s", LEASE_RENEW_DEADLINE: "4s", LEASE_RETRY_PERIOD: "1s" };

/** A replica: how it is started, and its process while it runs. */
interface Replica {
  readonly name: string;
  readonly launcher: string;
  readonly env: Env;
  readonly httpUrl: string;
  process?: ProcessGroup;
}

/** Starts everything but data planes, of the checkout at `root`; resolves when all replicas are ready. */
export async function startOperatorStack(root = ROOT): Promise<OperatorStack> {
  const folder = makeTemporaryFolder();
  const logPath = join(folder.path, "audit.log");
  const flags = auditFlags(["weir-operator", "weir-control-plane"], {
    policyPath: join(folder.path, "policy.json"),
    logPath,
  });
  const cluster = await startKubernetesCluster({ full: true, apiServerFlags: flags });
  const stack = new OperatorStack(cluster, { folder: folder.path, remove: () => folder.remove(), logPath });
  try {
    await stack.install(root);
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** Everything that runs. */
export class OperatorStack {
  readonly cluster: KubernetesCluster;
  readonly kubelet: Kubelet;
  readonly operators: Replica[] = [];
  readonly controlPlanes: Replica[] = [];
  readonly #files: { readonly folder: string; readonly remove: () => void; readonly logPath: string };
  #ads: ServiceAddress | undefined;

  constructor(
    cluster: KubernetesCluster,
    files: { readonly folder: string; readonly remove: () => void; readonly logPath: string },
  ) {
    this.cluster = cluster;
    this.#files = files;
    this.kubelet = new Kubelet(cluster);
  }

  /** Kinds, roles and accounts of this checkout, programs of the one at `root`. */
  async install(root = ROOT): Promise<void> {
    const { cluster } = this;
    const namespaces = [NAMESPACE, "shop"].map(
      (name) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`,
    );
    const files = ["crds/crds", "operator/rbac", "control-plane/rbac"].flatMap((folder) =>
      readdirSync(join(ROOT, folder))
        .filter((name) => !OTHER_SCOPES.has(name))
        .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
    );
    await cluster.apply([...namespaces, ...files].join("\n---\n"));
    await this.#admin("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all");
    await this.#admin("create", "serviceaccount", "dev", "-n", "shop");
    const edit = ["create", "rolebinding", "dev", "-n", "shop", "--clusterrole=edit", "--serviceaccount=shop:dev"];
    await this.#admin(...edit);
    await this.#writeKubeconfig("shop", "dev");
    await this.#writeKubeconfig(NAMESPACE, "weir-operator");
    await this.#writeKubeconfig(NAMESPACE, "weir-control-plane");
    for (const index of REPLICAS) await this.#prepareOperator(index);
    const ports = [await reservePort(), await reservePort()] as const;
    this.#ads = await openServiceAddress(...ports);
    for (const index of REPLICAS) await this.#prepareControlPlane(index, ports[index]);
    await Promise.all(this.operators.map((replica) => this.start(replica, root)));
    await Promise.all(this.controlPlanes.map((replica) => this.start(replica, root)));
  }

  /** Runs kubectl as the user of the namespace `shop`; fails with what it said. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const own = ["--kubeconfig", join(this.#files.folder, "dev"), "--cache-dir", join(this.#files.folder, "cache")];
    const running = promisify(execFile)(this.cluster.kubectlPath, [...own, "-n", "shop", ...args]);
    running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** Starts a replica (again), with its files if it needs them, and waits until it is ready. */
  async start(replica: Replica, root = ROOT): Promise<void> {
    if (replica.launcher === "weir-control-plane") await this.kubelet.mounted(join(this.#files.folder, replica.name));
    replica.process = await startPlanned({ ...replica, readyUrl: `${replica.httpUrl}/readyz` }, root);
  }

  /** Replaces the program of a replica by that of the checkout at `root`, as a rollout does. */
  async replace(replica: Replica, root: string): Promise<void> {
    const hasEndpoint = this.controlPlanes.includes(replica);
    if (hasEndpoint) await this.setEndpoint(replica, false);
    await replica.process!.stop("SIGTERM", STOP_GRACE_MS);
    await this.start(replica, root);
    if (hasEndpoint) await this.setEndpoint(replica, true);
  }

  /** The operator that is the leader, as it says itself. */
  async leader(): Promise<Replica> {
    return await eventually("a leader", async () => {
      for (const operator of this.operators) {
        if (operator.process?.isRunning() !== true) continue;
        const response = await fetch(`${operator.httpUrl}/readyz`);
        if ((await response.text()).includes("leader")) return operator;
      }
      throw new Error("no operator is the leader");
    });
  }

  /** Sets whether the endpoint of a control plane is ready, as Kubernetes does when its probes fail. */
  async setEndpoint({ name, env }: Replica, isReady: boolean): Promise<void> {
    await this.cluster.apply(
      JSON.stringify({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, namespace: NAMESPACE, labels: { "kubernetes.io/service-name": HEADLESS_SERVICE } },
        addressType: "IPv4",
        ports: [{ name: "ads", port: Number(env["ADS_PORT"]) }],
        endpoints: [
          {
            addresses: [machineAddress()],
            conditions: { ready: isReady },
            targetRef: { kind: "Pod", name, namespace: NAMESPACE, uid: name },
          },
        ],
      }),
    );
  }

  /** What pods of this machine need in place of cluster DNS: the Service's address, and its name. */
  podEnv(): Env {
    return {
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${this.#ads?.port}`,
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: `weir-control-plane.${NAMESPACE}.svc`,
    };
  }

  /** The texts of a Secret. */
  async secret(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
    const text = await this.#admin("get", "secret", name, "-n", namespace, "--output=json");
    const { data } = JSON.parse(text) as { readonly data: Readonly<Record<string, string>> };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
  }

  /** Gives a service of the namespace `shop` a certificate that should have been renewed; returns that. */
  async issueDue(service: string): Promise<string> {
    const { "tls.crt": cert = "", "tls.key": key = "" } = await this.secret(NAMESPACE, "weir-ca");
    const authority = await loadAuthority(cert, key);
    const due = await authority.issue({
      commonName: service,
      uris: [`spiffe://cluster.local/ns/shop/fleet/shop.${service}`],
      usage: "client",
      now: new Date(Date.now() - 25 * 86_400_000),
      validDays: 30,
    });
    const stringData = { [`${service}.crt`]: due.certPem, [`${service}.key`]: due.keyPem };
    const patch = JSON.stringify({ stringData });
    await this.#admin("patch", "secret", "weir-ratelimit-tls", "-n", "shop", "--type=merge", "-p", patch);
    return due.certPem;
  }

  /** All requests of the operator's and the control plane's accounts so far. */
  audit(): readonly AuditedRequest[] {
    return readAudit(this.#files.logPath);
  }

  async stop(): Promise<void> {
    const replicas = [...this.operators, ...this.controlPlanes];
    await Promise.all(replicas.map(async ({ process: running }) => running?.stop("SIGTERM", STOP_GRACE_MS)));
    await this.#ads?.close();
    await this.kubelet.stop();
    await this.cluster.stop();
    this.#files.remove();
  }

  async #admin(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  async #writeKubeconfig(namespace: string, account: string): Promise<void> {
    const token = await this.#admin("create", "token", account, "-n", namespace);
    const text = kubeconfigText(this.cluster.url, this.cluster.caPem, token.trim());
    writeFileSync(join(this.#files.folder, account), text, { mode: 0o600 });
  }

  async #prepareOperator(index: number): Promise<void> {
    const tls = this.kubelet.mount(`${NAMESPACE}/weir-operator-tls`, join(this.#files.folder, `operator-${index}`));
    this.operators.push(
      await this.#replica("weir-operator", `operator-${index}`, {
        OPERATOR_NAMESPACE: NAMESPACE,
        ...LEASE,
        CONTROL_PLANE_TLS_CERT: join(tls, "tls.crt"),
        CONTROL_PLANE_TLS_KEY: join(tls, "tls.key"),
        CONTROL_PLANE_TLS_CACERT: join(tls, "ca.crt"),
      }),
    );
  }

  async #prepareControlPlane(index: number, adsPort: number): Promise<void> {
    const name = `control-plane-${index}`;
    const tls = this.kubelet.mount(`${NAMESPACE}/weir-control-plane-tls`, join(this.#files.folder, name));
    const replica = await this.#replica("weir-control-plane", name, {
      SOURCE: "kubernetes",
      SHUTDOWN_DRAIN: "1s",
      ADS_PORT: String(adsPort),
      ADS_TLS_CERT: join(tls, "tls.crt"),
      ADS_TLS_KEY: join(tls, "tls.key"),
      ADS_TLS_CLIENT_CACERT: join(tls, "ca.crt"),
      ADS_FLEET_FROM_CERTIFICATE: "true",
      ADS_REPORT_SANS: `spiffe://cluster.local/ns/${NAMESPACE}/sa/weir-operator`,
    });
    this.controlPlanes.push(replica);
    await this.setEndpoint(replica, true);
  }

  async #replica(launcher: string, name: string, env: Env): Promise<Replica> {
    const port = await reservePort();
    const own = { HTTP_HOST: STACK_HOST, HTTP_PORT: String(port), KUBECONFIG: join(this.#files.folder, launcher) };
    // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the machine
    const machine = machineEnv(process.env);
    return { name, launcher, env: { ...machine, ...own, ...env }, httpUrl: `http://${STACK_HOST}:${port}` };
  }
}
