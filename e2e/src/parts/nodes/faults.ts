// The faults of the parts of an installed Weir and of what it depends on.
import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "@weir/testing/eventually";
import { expect } from "vitest";

import type { Fault } from "./fault-run.ts";
import { SYSTEM_NAMESPACE } from "./installed-cluster.ts";
import { type Product, SHOP } from "./product-fixture.ts";
import type { RunningPod } from "./running-pod.ts";

/** Longest wait for new certificates, in milliseconds: the operator compares them once a minute. */
const CERTIFICATES_TIMEOUT_MS = 120_000;

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
    { name: "All certificates replaced", cost: "nothing", happen: () => replaceCertificates(product) },
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
