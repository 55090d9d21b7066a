// The operator as docs/operator-data-planes.md and docs/status.md show it, for a user of one namespace who has nothing
// but kubectl: data planes and limits survive mistakes and crashes. Each test continues where the one before ended.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { eventually } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { isWrite } from "@weir/harness/kubernetes/audit-log";
import { manifestOf } from "@weir/harness/weir/weir";
import { type OperatorStack, startOperatorStack } from "@weir/harness/weir/operator-stack";
import type { Pod } from "@weir/harness/weir/pod";
import { ROOT } from "@weir/harness/processes/programs";

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

/** How long nothing may be written when nothing changes, in milliseconds: longer than a status is held or its counts wait. */
const REST_MS = 35_000;

/** How long nothing is written before that, in milliseconds: what follows a change is written by then. */
const SETTLED_MS = 5000;

/** Time limit of the test of that, in milliseconds. */
const REST_TEST_MS = 120_000;

/** Longest time until statuses are right after a replica was lost, in milliseconds. */
const REPLICA_LOST_MS = 20_000;

/** Time limit of a test that loses processes and gets them back, in milliseconds. */
const LOSS_TEST_MS = 120_000;

const DAY_MS = 86_400_000;

function limit(requestsPerUnit: number): string {
  return manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]);
}

describe("the operator", () => {
  let stack: OperatorStack;
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let pods: readonly Pod[] = [];

  beforeAll(async () => {
    stack = await startOperatorStack();
    redis = await startRedis(stack.cluster.folder);
  });

  afterAll(async () => {
    for (const pod of pods) await pod.process.stop("SIGTERM", 5000);
    await redis.stop();
    await stack.stop();
  });

  const get = async (...args: readonly string[]): Promise<Mapping> =>
    JSON.parse(await stack.kubectl(["get", ...args, "--output=json"])) as Mapping;
  const wait = (...args: readonly string[]): Promise<string> => stack.kubectl(["wait", "--timeout=40s", ...args]);
  const conditionsOf = async (...object: readonly string[]): Promise<Mapping> =>
    Object.fromEntries(
      mappingsOf(fieldsOf((await get(...object))["status"])["conditions"]).map(({ type, status, reason }) => [
        String(type),
        `${String(status)} ${String(reason)}`,
      ]),
    );
  const revisions = async (): Promise<readonly Mapping[]> => mappingsOf((await get("rlcr"))["items"]);
  const namesOf = (objects: readonly Mapping[]): readonly unknown[] =>
    objects.map(({ metadata }) => fieldsOf(metadata)["name"]);
  const limits = (): Promise<readonly (number | undefined)[]> =>
    Promise.all(pods.map((pod) => pod.limitOf("mail", { user: "probe" })));

  /** Runs the pods that the cluster has for the service (again). */
  async function runPods(): Promise<void> {
    const { selector } = fieldsOf((await get("rls", "core"))["status"]);
    const objects = mappingsOf((await get("pods", "-l", String(selector)))["items"]);
    pods = await Promise.all(objects.map((pod) => stack.kubelet.run(pod, stack.podEnv())));
  }

  it("has an example of its installation that the API server accepts", async () => {
    const example = readFileSync(join(ROOT, "examples/operator/operator.yaml"), "utf8");
    const { code, stdout, stderr } = await stack.cluster.kubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"],
      example,
    );
    expect([code, stderr, stdout.trim().split("\n").length]).toEqual([0, "", 3]);
  });

  it("makes connected data planes of a RateLimitService", async () => {
    const backend = {
      type: "redis",
      redis: { type: "single", single: { address: redis.address }, commandTimeout: "20s" },
    };
    const service = {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitService",
      metadata: { name: "core" },
      spec: { replicas: 2, backend },
    };
    await stack.kubectl(["apply", "-f", "-"], JSON.stringify(service));
    await wait("--for=condition=Available", "rls/core");
    // Unknown until the operator has read the first reports.
    await eventually("pods that do not run to be reported", async () =>
      expect(await conditionsOf("rls", "core")).toMatchObject({
        Connected: "False PodsNotConnected",
        Ready: "False PodsNotConnected",
      }),
    );
    await runPods();
    expect(pods).toHaveLength(2);
    await wait("--for=condition=Connected", "rls/core");
    await wait("--for=condition=Ready", "rls/core");
  });

  it("brings a RateLimitConfig to them, and reports it when they have it", async () => {
    await stack.kubectl(["apply", "-f", "-"], limit(2));
    await wait("--for=condition=Ready", "rlc/mail");
    const codes: number[] = [];
    for (let asked = 0; asked < 4; asked++) codes.push(await pods[asked % 2]!.ask("mail", { user: "ann" }));
    expect(codes).toEqual([200, 200, 429, 429]); // Both count in one store.
    await eventually("the number of pods", async () =>
      expect(fieldsOf((await get("rlc", "mail"))["status"])["pods"]).toMatchObject({ summary: "2/2" }),
    );
    await eventually("the last good form", async () =>
      expect((await revisions()).map(({ spec }) => fieldsOf(spec)["domain"])).toEqual(["mail"]),
    );
  });

  it(
    "writes nothing but the Lease when nothing changes",
    async () => {
      // Statuses are right by now; events and counts follow them, by three seconds or more on a busy machine.
      await eventually("the last writes of what has changed", () => {
        const lastMs = Math.max(
          0,
          ...stack
            .audit()
            .filter(isWrite)
            .map(({ receivedMs }) => receivedMs),
        );
        expect(Date.now() - lastMs).toBeGreaterThan(SETTLED_MS);
      });
      const before = stack.audit().length;
      await delay(REST_MS);
      const later = stack.audit().slice(before);
      expect(later.filter(isWrite)).toEqual([]);
      expect(later.some(({ resource, verb }) => resource === "leases" && verb === "update")).toBe(true);
    },
    REST_TEST_MS,
  );

  it("names the field of a mistake, while the last good form is served", async () => {
    await stack.kubectl(["apply", "-f", "-"], manifestOf("mail", "mail", TWINS));
    await wait("--for=condition=Accepted=false", "rlc/mail");
    const { generation } = fieldsOf((await get("rlc", "mail"))["metadata"]);
    await eventually("the status", async () =>
      expect((await get("rlc", "mail"))["status"]).toMatchObject({
        observedGeneration: generation,
        servesLastGood: true,
        problems: [{ field: "spec.descriptors[1].key" }],
      }),
    );
    expect(await limits()).toEqual([2, 2]);
  });

  it("keeps every limit when the leader, the control plane and the pods are killed meanwhile", async () => {
    const kept = namesOf(await revisions());
    const leader = await stack.leader();
    const killed = [leader, ...stack.controlPlanes];
    const processes = [...killed.map((replica) => replica.process!), ...pods.map((pod) => pod.process)];
    for (const each of processes) each.kill();
    await Promise.all(processes.map((each) => each.exited));
    await Promise.all(stack.controlPlanes.map((replica) => stack.start(replica)));
    await runPods();
    await eventually("the limits", async () => expect(await limits()).toEqual([2, 2]));
    const heir = await stack.leader();
    expect(heir.name).not.toBe(leader.name);
    await stack.start(leader);
    await wait("--for=condition=Connected", "rls/core");
    expect(fieldsOf((await get("rlc", "mail"))["status"])).toMatchObject({ servesLastGood: true });
    expect([namesOf(await revisions()), await limits()]).toEqual([kept, [2, 2]]);
    expect(await pods[0]!.ask("mail", { user: "ann" })).toBe(429); // Counters are in the store.
  });

  it("reports the fixed resource, and what happened is in the events", async () => {
    const [before] = namesOf(await revisions());
    await stack.kubectl(["apply", "-f", "-"], limit(3));
    await wait("--for=condition=Ready", "rlc/mail");
    expect(await limits()).toEqual([3, 3]);
    await eventually("the new last good form alone", async () => {
      const names = namesOf(await revisions());
      expect([names.length, names.includes(before)]).toEqual([1, false]);
    });
    await eventually("the events", async () => {
      const { items } = await get("events");
      const reasons = new Set(
        mappingsOf(items).map(
          ({ involvedObject, reason }) => `${String(fieldsOf(involvedObject)["kind"])} ${String(reason)}`,
        ),
      );
      for (const reason of ["Accepted", "Programmed", "InvalidSpec", "ServingLastGood"])
        expect(reasons).toContain(`RateLimitConfig ${reason}`);
    });
  });

  it(
    "names a killed replica of the control plane whose endpoint stays, and every status is right when that is gone",
    async () => {
      const names = Array.from({ length: 20 }, (_, index) => `more-${index}`);
      const rules = [{ key: "user", rateLimit: { unit: "year", requestsPerUnit: 1 } }];
      await stack.kubectl(["apply", "-f", "-"], names.map((name) => manifestOf(name, name, rules)).join("\n---\n"));
      await wait("--for=condition=Ready", "rlc", "--all");
      const killed = stack.controlPlanes[0]!;
      killed.process!.kill();
      await killed.process!.exited;
      const all = async (): Promise<readonly Mapping[]> => mappingsOf((await get("rlc"))["items"]);
      const conditions = (resource: Mapping) =>
        mappingsOf(fieldsOf(resource["status"])["conditions"]).map(
          ({ type, status, message }) => `${String(type)} ${String(status)} ${String(message)}`,
        );
      // A replica names itself by its host, which is its pod in a cluster.
      const silent = `Unknown Replica ${hostname()} of the control plane does not answer`;
      await eventually(
        "every status to name the replica",
        async () => {
          const wanted = ["Accepted", "Programmed", "Ready"].map((type) => `${type} ${silent}`);
          expect((await all()).map(conditions)).toEqual(Array(names.length + 1).fill(wanted));
        },
        REPLICA_LOST_MS,
      );
      await stack.setEndpoint(killed, false);
      await eventually(
        "every status to be right",
        async () => {
          const ready = (await all()).map(
            (resource) => conditions(resource).filter((text) => text.includes(" True ")).length,
          );
          expect(ready).toEqual(Array(names.length + 1).fill(3));
        },
        REPLICA_LOST_MS,
      );
      expect(await limits()).toEqual([3, 3]);
      await stack.start(killed);
      await stack.setEndpoint(killed, true);
      await stack.kubectl(["delete", "rlc", ...names]);
    },
    LOSS_TEST_MS,
  );

  it(
    "renews a certificate that became due while every operator was down, and reports what changed meanwhile",
    async () => {
      for (const { process } of stack.operators) process!.kill();
      await Promise.all(stack.operators.map(({ process }) => process!.exited));
      const due = await stack.issueDue("core");
      await stack.kubectl(["apply", "-f", "-"], limit(4));
      await Promise.all(stack.operators.map((operator) => stack.start(operator)));
      await eventually("another certificate", async () => {
        const { "core.crt": renewed = "" } = await stack.secret("shop", "weir-ratelimit-tls");
        expect(renewed).not.toBe(due);
        expect(new X509Certificate(renewed).validToDate.getTime()).toBeGreaterThan(Date.now() + 29 * DAY_MS);
      });
      await wait("--for=condition=Ready", "rlc/mail");
      await wait("--for=condition=Ready", "rls/core");
      expect(await limits()).toEqual([4, 4]);
      await eventually("the event", async () => {
        const notes = mappingsOf((await get("events"))["items"]).map(({ message }) => String(message));
        expect(notes).toContainEqual(expect.stringContaining("two thirds of its life are over"));
      });
    },
    LOSS_TEST_MS,
  );

  it("forgets the last good form of a deleted resource", async () => {
    await stack.kubectl(["delete", "rlc", "mail"]);
    await eventually("no limit", async () => expect(await limits()).toEqual([undefined, undefined]));
    await eventually("no revision", async () => expect(await revisions()).toEqual([]));
  });

  it("needs no right that its roles do not give", () => {
    const requests = stack.audit();
    expect(new Set(requests.map(({ account }) => account))).toEqual(new Set(["weir-operator", "weir-control-plane"]));
    expect(requests.filter(({ status }) => status === 401 || status === 403)).toEqual([]);
  });
});
