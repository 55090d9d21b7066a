// Three operators as processes over a real API server, each as a user of its own: whatever happens to
// them, two never write at the same time, as the audit log of the server shows.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import type { AuditedRequest } from "@weir/harness/kubernetes/audit-log";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { startSource } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

const NAMESPACE = "weir-system";
const NAMES = ["operator-0", "operator-1", "operator-2"];

/** Writes after which a leader is known to work. */
const WRITES = 20;

/** The accounts and rights of the processes, and the ConfigMap that they write. */
const OBJECTS = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "written", namespace: NAMESPACE, labels: { test: "election" } },
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "election", namespace: NAMESPACE },
    rules: [
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        resourceNames: ["weir-operator"],
        verbs: ["get", "update"],
      },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "update"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "election", namespace: NAMESPACE },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "election" },
    subjects: NAMES.map((name) => ({ kind: "ServiceAccount", name, namespace: NAMESPACE })),
  },
  ...NAMES.map((name) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: NAMESPACE } })),
];

/** One replica: its process, its user, and the way to the API server that is its alone. */
interface Replica {
  readonly account: string;
  readonly proxy: CuttingProxy;
  readonly kubeconfigPath: string;
  readonly http: string;
  readonly httpPort: number;
  process: Program;
}

let folder: string;
let cluster: KubernetesCluster;
let replicas: Replica[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-election-"));
  cluster = await startKubernetesCluster({ isAudited: true });
  await cluster.apply(OBJECTS.map((object) => JSON.stringify(object)).join("\n---\n"));
});

afterAll(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function createReplica(name: string): Promise<Replica> {
  const token = await cluster.tokenOf(name, NAMESPACE);
  const proxy = await startCuttingProxy(Number(new URL(cluster.url).port));
  const kubeconfigPath = join(folder, `${name}.kubeconfig`);
  writeFileSync(kubeconfigPath, cluster.kubeconfig({ server: `https://127.0.0.1:${proxy.port}` }, token));
  const httpPort = await reservePort();
  const place = { account: name, proxy, kubeconfigPath, httpPort, http: `http://127.0.0.1:${httpPort}` };
  return { ...place, process: startProcess(place) };
}

function startProcess({ kubeconfigPath, httpPort }: Pick<Replica, "kubeconfigPath" | "httpPort">): Program {
  const env = {
    KUBECONFIG: kubeconfigPath,
    OPERATOR_NAMESPACE: NAMESPACE,
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(httpPort),
    // Longer than a busy machine stops one of the processes: it must not change the leader.
    LEASE_DURATION: "10s",
    LEASE_RENEW_DEADLINE: "8s",
    LEASE_RETRY_PERIOD: "500ms",
  };
  return startSource("operator/src/writing-operator.suite.ts", env);
}

/** The writes of the leader that succeeded: what the election protects. */
function work(): readonly AuditedRequest[] {
  return cluster.audit().filter(({ resource, verb, status }) => {
    return resource === "configmaps" && verb === "update" && status < 300;
  });
}

/** Waits until a replica has written often since now, and returns it. */
async function leaderAmong(candidates: readonly Replica[]): Promise<Replica> {
  const before = work().length;
  return await eventually("a leader that writes", () => {
    const recent = work().slice(before);
    const leader = candidates.find(
      ({ account }) => recent.filter((write) => write.account === account).length >= WRITES,
    );
    if (leader === undefined)
      throw new Error(`there is none; ${replicas.map((each) => each.process.text()).join("\n")}`);
    return leader;
  });
}

function others(replica: Replica): readonly Replica[] {
  return replicas.filter((other) => other !== replica);
}

async function get(replica: Replica, path: string): Promise<string> {
  return await (await fetch(replica.http + path)).text();
}

/** The users in the order in which they wrote; throws when the writes of two were not one after the other. */
function writersInOrder(): readonly string[] {
  const order: string[] = [];
  let lastCompletedMs = 0;
  for (const { account, receivedMs, completedMs } of work()) {
    if (order.at(-1) !== account) {
      expect(receivedMs, `${account} wrote while the writes of ${order.at(-1)} went on`).toBeGreaterThan(
        lastCompletedMs,
      );
      order.push(account);
    }
    lastCompletedMs = Math.max(lastCompletedMs, completedMs);
  }
  return order;
}

describe("three operators", () => {
  let leader: Replica;
  /** Users that have written before the test, in order. */
  let writersBefore: number;

  beforeAll(async () => {
    replicas = await Promise.all(NAMES.map((name) => createReplica(name)));
  });

  beforeEach(async () => {
    leader = await leaderAmong(replicas);
    for (const replica of replicas) {
      await eventually("all replicas to be ready", async () => {
        expect(await get(replica, "/readyz")).toBe(`ready\n${replica === leader ? "leader" : "candidate"}\n`);
      });
    }
    writersBefore = writersInOrder().length;
  });

  afterEach(async () => {
    for (const replica of replicas) {
      replica.proxy.restore();
      if (!replica.process.isRunning()) replica.process = startProcess(replica);
    }
    // A leader that comes back does no harm either.
    await leaderAmong(replicas);
    writersInOrder();
  });

  afterAll(async () => {
    for (const { process: child, proxy } of replicas) {
      await child.end();
      await proxy.close();
    }
  });

  it("have one leader, which says so in its metrics", async () => {
    const text = await get(leader, "/metrics");
    for (const line of [
      'leader_election_master_status{name="weir-operator"} 1',
      'workqueue_depth{name="configmap",controller="configmap"} ',
      'controller_runtime_max_concurrent_reconciles{controller="configmap"} 8',
      `rest_client_requests_total{code="200",method="PUT",host="127.0.0.1:${leader.proxy.port}"} `,
    ])
      expect(text).toContain(line);
    for (const other of others(leader))
      expect(await get(other, "/metrics")).toContain('leader_election_master_status{name="weir-operator"} 0');
    const lease = await cluster.kubectl(["get", "lease", "weir-operator", "--namespace", NAMESPACE, "--output=json"]);
    const { spec } = JSON.parse(lease.stdout) as { spec: Record<string, unknown> };
    expect(spec).toMatchObject({ leaseDurationSeconds: 10, holderIdentity: expect.stringMatching(/_[-0-9a-f]{36}$/) });
    await leaderAmong([leader]);
    expect(writersInOrder()).toHaveLength(writersBefore);
  });

  it("have another leader after the leader was killed", async () => {
    leader.process.kill();
    const next = await leaderAmong(others(leader));
    expect(writersInOrder().slice(writersBefore)).toEqual([next.account]);
  });

  it("have another leader while the leader is stopped, which does not write when it is woken", async () => {
    await leader.process.pause();
    const next = await leaderAmong(others(leader));
    leader.process.resume();
    await eventually("the former leader to be a candidate", async () => {
      expect(await get(leader, "/readyz")).toBe("ready\ncandidate\n");
    });
    await leaderAmong([next]);
    expect(writersInOrder().slice(writersBefore)).toEqual([next.account]);
  });

  it.each([
    { what: "refuses connections", cut: (proxy: CuttingProxy) => proxy.block() },
    { what: "swallows all bytes", cut: (proxy: CuttingProxy) => proxy.swallow() },
  ])("have another leader while the way of the leader to the API server $what", async ({ cut }) => {
    cut(leader.proxy);
    const next = await leaderAmong(others(leader));
    expect(leader.process.text()).toContain("Not the leader any more");
    leader.proxy.restore();
    leader.proxy.cut();
    await leaderAmong([next]);
    expect(writersInOrder().slice(writersBefore)).toEqual([next.account]);
  });

  it("have another leader when the work of the leader does not end, which exits with the reason", async () => {
    leader.process.signal("SIGUSR2");
    leader.proxy.block();
    const next = await leaderAmong(others(leader));
    const code = await leader.process.code;
    expect(leader.process.text()).toContain(
      "Cannot end the work of the leader (the Lease is lost: it was not renewed in time): " +
        "Cannot stop cleanly: part that may be stuck did not stop within 10000 ms in all",
    );
    expect([code, writersInOrder().slice(writersBefore)]).toEqual([1, [next.account]]);
  });

  it("have another leader as soon as the leader has stopped in order", async () => {
    const code = await leader.process.end("SIGTERM");
    const lease = await cluster.kubectl(["get", "lease", "weir-operator", "--namespace", NAMESPACE, "--output=json"]);
    const { spec } = JSON.parse(lease.stdout) as { spec: { holderIdentity?: string } };
    const next = await leaderAmong(others(leader));
    expect([code, writersInOrder().slice(writersBefore)]).toEqual([0, [next.account]]);
    // Released, or taken since.
    const identity = / identity=(\S+)/.exec(leader.process.text())?.[1] ?? "";
    expect(identity).not.toBe("");
    expect(spec.holderIdentity).not.toBe(identity);
  });

  it("have a leader that continues when the Lease is deleted under it", async () => {
    await cluster.kubectl(["delete", "lease", "weir-operator", "--namespace", NAMESPACE]);
    await eventually("a new Lease", async () => {
      const { code } = await cluster.kubectl(["get", "lease", "weir-operator", "--namespace", NAMESPACE]);
      expect(code).toBe(0);
    });
    await leaderAmong([leader]);
    expect(writersInOrder()).toHaveLength(writersBefore);
  });
});
