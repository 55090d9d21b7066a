// The installed operator as docs/operator-data-planes.md and docs/status.md show it, for a user of one namespace who has
// nothing but kubectl: data planes and limits survive mistakes and crashes. Each test continues where the one before ended.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { loadAuthority } from "@weir/certificates/authority";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { eventually } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type NodeAccess, type NodePod, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { podUrl, startInstalledNode } from "@weir/harness/node/product";
import type { RealNode } from "@weir/harness/node/real-node";
import { manifestOf } from "@weir/harness/weir/weir";
import { PodClient } from "@weir/harness/weir/pod";
import { ROOT } from "@weir/harness/processes/programs";

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

/** Longest time until statuses are right after a replica was lost, in milliseconds. */
const REPLICA_LOST_MS = 20_000;

/** Time limit of a test that loses processes and gets them back, in milliseconds. */
const LOSS_TEST_MS = 120_000;

const DAY_MS = 86_400_000;

function limit(requestsPerUnit: number): string {
  return manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]);
}

describe("the operator", () => {
  let node: RealNode;
  let dev: NodeAccess;
  let redis: Awaited<ReturnType<typeof startRedis>>;

  beforeAll(async () => {
    node = await startInstalledNode("--set", "rateLimitService.create=false");
    // The API server must store the mistakes of this test.
    await node.kubectl(["delete", "validatingwebhookconfiguration", "weir"]);
    redis = await startRedis(node.folder, { host: node.addresses.host });
    await node.kubectl(["create", "namespace", "shop"]);
    await node.kubectl(["create", "serviceaccount", "dev", "-n", "shop"]);
    const edit = ["create", "rolebinding", "dev", "-n", "shop", "--clusterrole=edit", "--serviceaccount=shop:dev"];
    await node.kubectl(edit);
    dev = await node.as("dev", "shop");
  });

  afterAll(async () => {
    await (redis as typeof redis | undefined)?.stop(); // Not there when the node did not start.
    await (node as RealNode | undefined)?.stop();
  });

  const kubectl = (args: readonly string[], input?: string): Promise<string> =>
    dev.kubectl(["-n", "shop", ...args], input);
  const apply = (text: string): Promise<string> => kubectl(["apply", "-f", "-"], text);
  const get = async (...args: readonly string[]): Promise<Mapping> =>
    JSON.parse(await kubectl(["get", ...args, "--output=json"])) as Mapping;
  const wait = (...args: readonly string[]): Promise<string> => kubectl(["wait", "--timeout=60s", ...args]);
  const revisions = async (): Promise<readonly Mapping[]> => mappingsOf((await get("rlcr"))["items"]);
  const namesOf = (objects: readonly Mapping[]): readonly unknown[] =>
    objects.map(({ metadata }) => fieldsOf(metadata)["name"]);
  const controlPlanes = (): Promise<readonly NodePod[]> => node.pods("weir-control-plane");
  const pods = (): Promise<readonly NodePod[]> => node.pods("weir-ratelimit", "shop");
  const clients = async (): Promise<readonly PodClient[]> => (await pods()).map((pod) => new PodClient(podUrl(pod)));
  const limits = async (): Promise<readonly (number | undefined)[]> =>
    Promise.all((await clients()).map((pod) => pod.limitOf("mail", { user: "probe" })));
  const holder = (): Promise<string> =>
    node.kubectl(["get", "lease", "weir-operator", "-n", SYSTEM_NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"]);

  it("has an example of its installation that the API server accepts", async () => {
    const example = readFileSync(join(ROOT, "examples/operator/operator.yaml"), "utf8");
    const { code, stdout, stderr } = await node.cluster.kubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"],
      example.replaceAll("weir-operator", "example-operator"),
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
    await apply(JSON.stringify(service));
    for (const condition of ["Available", "Connected", "Ready"]) await wait(`--for=condition=${condition}`, "rls/core");
    expect(await pods()).toHaveLength(2);
  });

  it("brings a RateLimitConfig to them, and reports it when they have it", async () => {
    await apply(limit(2));
    await wait("--for=condition=Ready", "rlc/mail");
    const codes: number[] = [];
    const both = await clients();
    for (let asked = 0; asked < 4; asked++) codes.push(await both[asked % 2]!.ask("mail", { user: "ann" }));
    expect(codes).toEqual([200, 200, 429, 429]); // Both count in one store.
    await eventually("the number of pods", async () =>
      expect(fieldsOf((await get("rlc", "mail"))["status"])["pods"]).toMatchObject({ summary: "2/2" }),
    );
    await eventually("the last good revision", async () =>
      expect((await revisions()).map(({ spec }) => fieldsOf(spec)["domain"])).toEqual(["mail"]),
    );
  });

  it("names the field of a mistake, while the last good revision is served", async () => {
    await apply(manifestOf("mail", "mail", TWINS));
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

  it(
    "keeps every limit when the leader, the control plane and the pods are killed meanwhile",
    async () => {
      const [kept, leader] = [namesOf(await revisions()), await holder()];
      const operator = (await node.pods("weir-operator")).find(({ name }) => leader.startsWith(name))!;
      await node.kill(operator, ...(await controlPlanes()), ...(await pods()));
      await eventually("the limits", async () => expect(await limits()).toEqual([2, 2]));
      await eventually("another leader", async () => expect(await holder()).not.toBe(leader));
      for (const condition of ["Connected", "Ready"]) await wait(`--for=condition=${condition}`, "rls/core");
      expect(fieldsOf((await get("rlc", "mail"))["status"])).toMatchObject({ servesLastGood: true });
      expect([namesOf(await revisions()), await limits()]).toEqual([kept, [2, 2]]);
      expect(await (await clients())[0]!.ask("mail", { user: "ann" })).toBe(429); // Counters are in the store.
    },
    LOSS_TEST_MS,
  );

  it("reports the fixed resource, and what happened is in the events", async () => {
    const [before] = namesOf(await revisions());
    await apply(limit(3));
    await wait("--for=condition=Ready", "rlc/mail");
    expect(await limits()).toEqual([3, 3]);
    await eventually("the new last good revision alone", async () => {
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
      await apply(names.map((name) => manifestOf(name, name, rules)).join("\n---\n"));
      await wait("--for=condition=Ready", "rlc", "--all");
      const [lost] = await controlPlanes();
      await setStaleEndpoint(lost!);
      await node.signal(lost!, "SIGSTOP");
      const all = async (): Promise<readonly Mapping[]> => mappingsOf((await get("rlc"))["items"]);
      const conditions = (resource: Mapping) =>
        mappingsOf(fieldsOf(resource["status"])["conditions"]).map(
          ({ type, status, message }) => `${String(type)} ${String(status)} ${String(message)}`,
        );
      const silent = `Unknown Replica ${lost!.name} of the control plane does not answer`;
      await eventually(
        "every status to name the replica",
        async () => {
          const wanted = ["Accepted", "Programmed", "Ready"].map((type) => `${type} ${silent}`);
          expect((await all()).map(conditions)).toEqual(Array(names.length + 1).fill(wanted));
        },
        REPLICA_LOST_MS,
      );
      await node.kubectl(["delete", "endpointslice", "stale", "-n", SYSTEM_NAMESPACE]);
      await node.kill(lost!); // Pods that it held while it was frozen connect elsewhere.
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
      await kubectl(["delete", "rlc", ...names]);
    },
    LOSS_TEST_MS,
  );

  it(
    "renews a certificate that became due while every operator was down, and reports what changed meanwhile",
    async () => {
      await node.kubectl(["scale", "deployment/weir-operator", "--replicas=0", "-n", SYSTEM_NAMESPACE]);
      await eventually("no operator", async () => expect(await node.pods("weir-operator")).toEqual([]));
      const due = await issueDue();
      await apply(limit(4));
      await node.kubectl(["scale", "deployment/weir-operator", "--replicas=2", "-n", SYSTEM_NAMESPACE]);
      await eventually("another certificate", async () => {
        const { "core.crt": renewed = "" } = await node.secret("shop", "weir-ratelimit-tls");
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

  it("forgets the last good revision of a deleted resource", async () => {
    await kubectl(["delete", "rlc", "mail"]);
    await eventually("no limit", async () => expect(await limits()).toEqual([undefined, undefined]));
    await eventually("no revision", async () => expect(await revisions()).toEqual([]));
  });

  it("needs no right that its roles do not give", () => {
    const requests = node.cluster.audit();
    expect(new Set(requests.map(({ account }) => account))).toEqual(new Set(["weir-operator", "weir-control-plane"]));
    expect(requests.filter(({ status }) => status === 401 || status === 403)).toEqual([]);
  });

  /** An endpoint of a control plane that nothing removes when the pod does not answer. */
  async function setStaleEndpoint({ name, namespace, uid, address }: NodePod): Promise<void> {
    await node.apply({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "stale", namespace, labels: { "kubernetes.io/service-name": "weir-control-plane-headless" } },
      addressType: "IPv4",
      ports: [{ name: "ads", port: 18_000 }],
      endpoints: [
        { addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace, uid } },
      ],
    });
  }

  /** Gives the service a certificate that should have been renewed; returns that. */
  async function issueDue(): Promise<string> {
    const { "tls.crt": cert = "", "tls.key": key = "" } = await node.secret(SYSTEM_NAMESPACE, "weir-ca");
    const due = await (
      await loadAuthority(cert, key)
    ).issue({
      commonName: "core",
      uris: ["spiffe://cluster.local/ns/shop/fleet/shop.core"],
      usage: "client",
      now: new Date(Date.now() - 25 * DAY_MS),
      validDays: 30,
    });
    const patch = JSON.stringify({ stringData: { "core.crt": due.certPem, "core.key": due.keyPem } });
    await node.kubectl(["patch", "secret", "weir-ratelimit-tls", "-n", "shop", "--type=merge", "-p", patch]);
    return due.certPem;
  }
});
