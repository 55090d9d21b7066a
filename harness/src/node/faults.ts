// The faults of the parts of an installed Weir and of what it depends on.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { boundCommand } from "../processes/bound-command.ts";
import { eventually } from "../processes/eventually.ts";
import { sendCommand } from "../servers/redis.ts";
import type { StoreServer } from "../servers/store-server.ts";
import { expect } from "vitest";

import type { Disturbance } from "./edit-run.ts";
import type { Fault } from "./fault-run.ts";
import type { KubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";
import { CGROUPS, type NodePod, SYSTEM_NAMESPACE } from "./node-access.ts";
import { type Product, SHOP } from "./product.ts";

/** Longest wait for new certificates, in milliseconds: the operator compares them once a minute. */
const CERTIFICATES_TIMEOUT_MS = 120_000;

/** Longest wait for a restart by a liveness probe, in milliseconds: six failures, and the grace time. */
const LIVENESS_TIMEOUT_MS = 240_000;

/** How long DNS does not answer, in milliseconds: longer than a resolver waits. */
const DNS_FROZEN_MS = 6000;

/** Port of the control planes for pods. */
const ADS_PORT = 18_000;

/** Secrets with a certificate that the operator makes, with the namespace of each. */
const CERTIFICATES = [
  [SYSTEM_NAMESPACE, "weir-control-plane-tls"],
  [SYSTEM_NAMESPACE, "weir-operator-tls"],
  [SHOP, "weir-ratelimit-tls"],
] as const;

/** kill -9 of one process of each kind, and SIGSTOP of one for some time. */
export function processFaults(product: Product, pauseMs: number): readonly Fault[] {
  const seconds = pauseMs / 1000;
  const kinds = [
    { what: "the leading operator", cost: "nothing", find: () => product.leader() },
    { what: "one control plane", cost: "nothing", find: () => first(product, "weir-control-plane") },
    { what: "one rate limit pod", cost: "decisions", find: () => first(product, "weir-ratelimit") },
  ] as const;
  return kinds.flatMap(({ what, cost, find }) => [
    { name: `kill -9 of ${what}`, cost, happen: async () => product.node.kill(await find()) },
    { name: `SIGSTOP of ${what} for ${seconds} s`, cost, happen: async () => paused(product, await find(), pauseMs) },
  ]);
}

/** The counter store: restarted empty, and frozen. */
export function storeFaults({ redis }: Product, pauseMs: number): readonly Fault[] {
  return [
    {
      name: "Redis restarted, empty",
      cost: "counters",
      happen: async () => {
        await redis.kill();
        redis.start();
      },
    },
    {
      name: `Redis frozen for ${pauseMs / 1000} s`,
      cost: "decisions",
      happen: async () => {
        await redis.pause();
        await delay(pauseMs);
        redis.resume();
      },
    },
  ];
}

/** The cluster: API server, etcd, certificates, DNS, and what nodes and administrators do to pods. */
export function clusterFaults(product: Product, cluster: KubernetesCluster, awayMs: number): readonly Fault[] {
  const programs = ["weir-operator", "weir-control-plane", "weir-ratelimit"];
  return [
    {
      name: `API server gone for ${awayMs / 1000} s`,
      cost: "nothing",
      happen: async () => {
        await cluster.apiServer.kill();
        await delay(awayMs);
        await cluster.startApiServer();
      },
    },
    {
      name: "etcd restarted",
      cost: "nothing",
      happen: async () => {
        await cluster.etcd.kill();
        cluster.etcd.start();
      },
    },
    {
      name: "DNS frozen, while one control plane is killed",
      cost: "nothing",
      happen: async () => {
        const dns = await product.node.podsBy("k8s-app=kube-dns", "kube-system");
        for (const pod of dns) await product.node.signal(pod, "SIGSTOP");
        try {
          await product.node.kill(await first(product, "weir-control-plane"));
          await delay(DNS_FROZEN_MS);
        } finally {
          for (const pod of dns) await product.node.signal(pod, "SIGCONT");
        }
      },
    },
    // The call behind `kubectl drain`.
    ...programs.map((program): Fault => ({
      name: `Eviction of each pod of ${program} in turn`,
      cost: "nothing",
      happen: async () => {
        for (const pod of await product.node.pods(program)) await evicted(product, pod);
      },
    })),
    {
      name: "One rate limit pod killed for its memory",
      cost: "decisions",
      happen: async () => await outOfMemory(product, await first(product, "weir-ratelimit")),
    },
  ];
}

/** Faults of several parts at once, and those that take a minute or more. */
export function longFaults(product: Product, cluster: KubernetesCluster, awayMs: number): readonly Fault[] {
  const killAll = async (program: string): Promise<void> => {
    await product.node.kill(...(await product.node.pods(program)));
  };
  return [
    { name: "kill -9 of both operators", cost: "nothing", happen: () => killAll("weir-operator") },
    { name: "kill -9 of both control planes", cost: "nothing", happen: () => killAll("weir-control-plane") },
    { name: "kill -9 of all rate limit pods", cost: "decisions", happen: () => killAll("weir-ratelimit") },
    {
      name: "SIGSTOP of one control plane until its liveness probe restarts it",
      cost: "nothing",
      happen: async () => {
        const pod = await first(product, "weir-control-plane");
        await product.node.signal(pod, "SIGSTOP");
        await product.node.restarted(pod, LIVENESS_TIMEOUT_MS);
      },
    },
    {
      name: "All certificates replaced, then one control plane killed",
      cost: "nothing",
      happen: async () => {
        await replaceCertificates(product);
        await product.node.kill(await first(product, "weir-control-plane"));
      },
    },
    {
      name: `API server gone for ${awayMs / 1000} s, while one process of each kind is killed`,
      cost: "decisions",
      happen: async () => {
        const backMs = performance.now() + awayMs;
        const others = ["weir-control-plane", "weir-ratelimit"].map(async (name) => await first(product, name));
        const pods = await Promise.all([product.leader(), ...others]);
        await cluster.apiServer.kill();
        for (const pod of pods) await product.node.signal(pod, "SIGKILL");
        await delay(Math.max(0, backMs - performance.now()));
        await cluster.startApiServer();
      },
    },
    {
      name: "API server and etcd killed together",
      cost: "nothing",
      happen: async () => {
        await cluster.apiServer.kill();
        await cluster.etcd.kill();
        cluster.etcd.start();
        await cluster.startApiServer();
      },
    },
  ];
}

/** Disturbances of pods and streams while limits are edited; none of them may make an edit Ready too early. */
export function disturbances(product: Product): readonly Disturbance[] {
  const { node } = product;
  const restart = async (namespace: string, name: string): Promise<void> => {
    await node.kubectl(["rollout", "restart", `deployment/${name}`, "-n", namespace]);
    await node.kubectl(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=240s"]);
  };
  return [
    {
      name: "rolling restarts of everything",
      happen: async () => {
        await Promise.all([
          restart(SYSTEM_NAMESPACE, "weir-control-plane"),
          restart(SYSTEM_NAMESPACE, "weir-operator"),
          restart(SHOP, "core"),
        ]);
      },
    },
    {
      name: "kill -9 of both control planes",
      happen: async () => node.kill(...(await node.pods("weir-control-plane"))),
    },
    {
      name: "SIGSTOP of one control plane for 20 s",
      happen: async () => paused(product, await first(product, "weir-control-plane"), 20_000),
    },
    {
      // About as long as its stream and its readiness last.
      name: "SIGSTOP of one rate limit pod for 12 s",
      happen: async () => paused(product, await first(product, "weir-ratelimit"), 12_000),
    },
    {
      name: "no packets between one rate limit pod and the control planes for 20 s",
      happen: async () => {
        const restore = await node.dropPackets(await first(product, "weir-ratelimit"), ADS_PORT);
        await delay(20_000);
        await restore();
      },
    },
  ];
}

/** A Redis with a replica and a sentinel: a planned failover, and the loss of the primary in two ways. */
export function failoverFaults({ nodes, sentinel }: SentinelServers, pauseMs: number): readonly Fault[] {
  const primary = async (): Promise<StoreServer> => {
    const reply = await sendCommand(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster");
    const found = nodes.find(({ port }) => reply.includes(String(port)));
    if (found === undefined) throw new Error(`The sentinel knows no primary: ${reply}`);
    return found;
  };
  const another = async (before: StoreServer): Promise<void> => {
    await eventually("another primary", async () => expect((await primary()).port).not.toBe(before.port));
  };
  return [
    {
      name: "Redis failed over by command",
      cost: "counters",
      happen: async () => {
        const before = await primary();
        await eventually("the sentinel to begin", async () =>
          expect(await sendCommand(sentinel, "SENTINEL", "FAILOVER", "mymaster")).toContain("OK"),
        );
        await another(before);
      },
    },
    {
      name: "Redis primary killed",
      cost: "counters",
      happen: async () => {
        const before = await primary();
        await before.kill();
        await another(before);
        before.start();
      },
    },
    {
      name: `Redis primary frozen for ${pauseMs / 1000} s`,
      cost: "counters",
      happen: async () => {
        const before = await primary();
        await before.pause();
        await delay(pauseMs);
        before.resume();
        await another(before);
      },
    },
  ];
}

/** The servers of {@link failoverFaults}. */
export interface SentinelServers {
  readonly nodes: readonly StoreServer[];
  readonly sentinel: StoreServer;
}

async function first(product: Product, program: string): Promise<NodePod> {
  const [pod] = await product.node.pods(program);
  if (pod === undefined) throw new Error(`No pod of ${program} runs`);
  return pod;
}

async function paused({ node }: Product, pod: NodePod, pauseMs: number): Promise<void> {
  await node.signal(pod, "SIGSTOP");
  await delay(pauseMs);
  await node.signal(pod, "SIGCONT");
}

/** Evicts a pod as soon as its disruption budget allows this, and resolves when another one is ready. */
async function evicted({ node }: Product, { name, namespace }: NodePod): Promise<void> {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  await eventually(`the eviction of ${name}`, async () => {
    const { status, body } = await node.cluster.api.send("POST", `${path}/eviction`, eviction);
    expect([status, body["message"]]).toEqual([201, undefined]);
  });
  await eventually(`the end of ${name}`, async () =>
    expect((await node.cluster.api.send("GET", path)).status).toBe(404),
  );
}

/** Takes memory in the cgroup of the pod until the kernel kills its program, and resolves when it runs again. */
async function outOfMemory(product: Product, pod: NodePod): Promise<void> {
  const [program] = product.node.processesOf(pod);
  const [, cgroup] = /^\d+:memory:(.*)$/m.exec(readFileSync(`/proc/${program}/cgroup`, "utf8")) ?? [];
  // Of this process the kernel takes what it has, of the program also the score that the kubelet gave it.
  const fill = "const all = []; setInterval(() => all.push(Buffer.alloc(1 << 24, 1)), 1);";
  const enter = `echo $$ > "${CGROUPS}/memory${cgroup}/cgroup.procs" && exec "$@"`;
  const filler = spawn(...boundCommand("sh", ["-c", enter, "sh", process.execPath, "-e", fill]), { stdio: "ignore" });
  try {
    await eventually("the end of the program", () => expect(existsSync(`/proc/${program}`)).toBe(false));
  } finally {
    filler.kill("SIGKILL"); // Otherwise the next container has a full cgroup.
  }
  await product.node.restarted(pod);
  // The kubelet may report the new container before it reports why the last one ended.
  await eventually(`the reason of the end in ${pod.name}`, async () =>
    expect((await product.node.pod(pod)).endReasons).toContain("OOMKilled"),
  );
}

/** Deletes the Secrets; the operator makes new ones, which the processes read while they run. */
async function replaceCertificates({ node }: Product): Promise<void> {
  for (const [namespace, name] of CERTIFICATES) await node.kubectl(["delete", "secret", name, "-n", namespace]);
  await eventually(
    "new certificates",
    async () => {
      for (const [namespace, name] of CERTIFICATES) await node.kubectl(["get", "secret", name, "-n", namespace]);
    },
    CERTIFICATES_TIMEOUT_MS,
  );
}
