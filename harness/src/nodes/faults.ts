// The faults of the parts of an installed Weir and of what it depends on.
import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "../processes/eventually.ts";
import { sendCommand } from "../servers/redis.ts";
import type { StoreServer } from "../servers/store-server.ts";
import { expect } from "vitest";

import type { Fault } from "./fault-run.ts";
import { SYSTEM_NAMESPACE } from "./installed-cluster.ts";
import { type Product, SHOP } from "./product-fixture.ts";
import type { RunningPod } from "./running-pod.ts";

/** Longest wait for new certificates, in milliseconds: the operator compares them once a minute. */
const CERTIFICATES_TIMEOUT_MS = 120_000;

/** Longest wait for a restart by a liveness probe, in milliseconds: six failures, and the grace time. */
const LIVENESS_TIMEOUT_MS = 240_000;

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
    { what: "one control plane", cost: "nothing", find: () => Promise.resolve(first(product, "weir-control-plane")) },
    { what: "one rate limit pod", cost: "decisions", find: () => Promise.resolve(first(product, "weir-ratelimit")) },
  ] as const;
  return kinds.flatMap(({ what, cost, find }) => [
    { name: `kill -9 of ${what}`, cost, happen: async () => killed(await find()) },
    { name: `SIGSTOP of ${what} for ${seconds} s`, cost, happen: async () => paused(await find(), pauseMs) },
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

/** The cluster: API server, etcd, certificates, DNS. */
export function clusterFaults(product: Product, awayMs: number): readonly Fault[] {
  const { cluster, nodes } = product.pods;
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
      name: "DNS answers 3 s late, while one control plane is killed",
      cost: "nothing",
      happen: async () => {
        nodes.dns.delayMs = 3000;
        const asked = nodes.dns.questions;
        try {
          await killed(first(product, "weir-control-plane"));
          await eventually("questions to DNS", () => expect(nodes.dns.questions).toBeGreaterThan(asked));
          await ready(product);
        } finally {
          nodes.dns.delayMs = 0;
        }
      },
    },
  ];
}

/** Faults of several parts at once, and those that take a minute or more. */
export function longFaults(product: Product, awayMs: number): readonly Fault[] {
  const { cluster, nodes } = product.pods;
  const killAll = async (program: string): Promise<void> => {
    await Promise.all(nodes.pods(program).map(killed));
  };
  return [
    { name: "kill -9 of both operators", cost: "nothing", happen: () => killAll("weir-operator") },
    { name: "kill -9 of both control planes", cost: "nothing", happen: () => killAll("weir-control-plane") },
    { name: "kill -9 of all rate limit pods", cost: "decisions", happen: () => killAll("weir-ratelimit") },
    {
      name: "SIGSTOP of one control plane until its liveness probe restarts it",
      cost: "nothing",
      happen: async () => {
        const pod = first(product, "weir-control-plane");
        const before = pod.main.restarts;
        await pod.main.pause();
        await eventually("the restart", () => expect(pod.main.restarts).toBe(before + 1), LIVENESS_TIMEOUT_MS);
      },
    },
    {
      name: "All certificates replaced, then one control plane killed",
      cost: "nothing",
      happen: async () => {
        await replaceCertificates(product);
        await killed(first(product, "weir-control-plane"));
      },
    },
    {
      name: `API server gone for ${awayMs / 1000} s, while one process of each kind is killed`,
      cost: "decisions",
      happen: async () => {
        const backMs = performance.now() + awayMs;
        const leader = await product.leader();
        await cluster.apiServer.kill();
        await Promise.all([leader, first(product, "weir-control-plane"), first(product, "weir-ratelimit")].map(killed));
        await eventually("the rate limit pods to be ready", () =>
          expect(product.rateLimitPods().filter((pod) => !pod.isReady)).toEqual([]),
        );
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

function first(product: Product, program: string): RunningPod {
  const [pod] = product.pods.nodes.pods(program);
  if (pod === undefined) throw new Error(`No pod of ${program} runs`);
  return pod;
}

/** Kills the process, and resolves when it has been started again. */
async function killed(pod: RunningPod): Promise<void> {
  const before = pod.main.restarts;
  pod.main.kill();
  await eventually("the restart", () => expect(pod.main.restarts).toBe(before + 1));
}

async function paused(pod: RunningPod, pauseMs: number): Promise<void> {
  await pod.main.pause();
  await delay(pauseMs);
  pod.main.resume();
}

async function ready(product: Product): Promise<void> {
  await eventually("every pod to be ready", () =>
    expect(product.allPods().filter((pod) => !pod.isReady).length).toBe(0),
  );
}

/** Deletes the Secrets; the operator makes new ones, which the processes read while they run. */
async function replaceCertificates({ pods }: Product): Promise<void> {
  for (const [namespace, name] of CERTIFICATES) await pods.kubectl(["delete", "secret", name, "-n", namespace]);
  await eventually(
    "new certificates",
    async () => {
      for (const [namespace, name] of CERTIFICATES) await pods.kubectl(["get", "secret", name, "-n", namespace]);
    },
    CERTIFICATES_TIMEOUT_MS,
  );
}
