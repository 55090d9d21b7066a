// Rollouts that do not end, in a cluster with Weir (docs/operator-data-planes.md): Ready waits for them, and Degraded says
// within fifteen seconds what is wrong. Each case has a namespace of its own, and all run at the same time.
import { NodeAccess } from "@weir/harness/node/node-access";
import { eventually } from "@weir/harness/processes/eventually";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { afterAll, describe, expect, inject, it } from "vitest";

/** Longest time between the fault and the condition, in milliseconds: 15 s, and as long again on a busy machine. */
const DEGRADED_MS = 30_000;

/** Nothing listens there. */
const NOWHERE = "127.0.0.1:1";

const MEMORY = { backend: { type: "memory" } };

const node = new NodeAccess(inject("node"));
const namespaces: string[] = [];

async function createNamespace(name: string): Promise<string> {
  await node.kubectl(["create", "namespace", name]);
  namespaces.push(name);
  return name;
}

/** Applies the RateLimitService `core` of a namespace. Its pods reserve nothing: a small node has room for all tests. */
async function applyService(namespace: string, content: object): Promise<void> {
  const metadata = { name: "core", namespace };
  const spec = { resources: {}, ...content };
  await node.apply({ apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", metadata, spec });
}

async function kubectl(namespace: string, ...args: readonly string[]): Promise<string> {
  return await node.kubectl([...args, "-n", namespace]);
}

async function waitUntilReady(namespace: string, timeout = "100s"): Promise<void> {
  await kubectl(namespace, "wait", "--for=condition=Ready", "rls/core", `--timeout=${timeout}`);
}

async function get(namespace: string, kind: string): Promise<Mapping> {
  return JSON.parse(await kubectl(namespace, "get", kind, "--output=json")) as Mapping;
}

type Conditions = Readonly<
  Record<string, { readonly text: string; readonly message: string; readonly sinceMs: number }>
>;

async function conditionsOf(namespace: string): Promise<Conditions> {
  const { conditions } = fieldsOf((await get(namespace, "rls/core"))["status"]);
  return Object.fromEntries(
    mappingsOf(conditions).map(({ type, status, reason, message, lastTransitionTime }) => [
      String(type),
      {
        text: `${String(status)} ${String(reason)}`,
        message: String(message),
        sinceMs: Date.parse(String(lastTransitionTime)),
      },
    ]),
  );
}

/** Waits until the conditions of `core` are these; returns them. */
async function expectConditions(namespace: string, expected: Readonly<Record<string, string>>): Promise<Conditions> {
  return await eventually(`the conditions of ${namespace}/core`, async () => {
    const found = await conditionsOf(namespace);
    const texts = Object.fromEntries(Object.entries(found).map(([type, { text }]) => [type, text]));
    expect(texts).toMatchObject(expected);
    return found;
  });
}

/** When the last of the pods was created, or its container started, in milliseconds since the epoch. */
async function lastStartMs(namespace: string): Promise<number> {
  const items = mappingsOf((await get(namespace, "pods"))["items"]);
  const times = items.flatMap(({ metadata, status }) => [
    fieldsOf(metadata)["creationTimestamp"],
    ...mappingsOf(fieldsOf(status)["containerStatuses"]).map(
      ({ state }) => fieldsOf(fieldsOf(state)["running"])["startedAt"],
    ),
  ]);
  return Math.max(...times.map((time) => Date.parse(textOf(time) ?? "")).filter((ms) => !Number.isNaN(ms)));
}

afterAll(async () => {
  await node.kubectl(["delete", "namespace", ...namespaces, "--wait=false"]);
});

describe.concurrent("a rollout that is stuck", () => {
  it.concurrent.each([
    { name: "unschedulable", spec: { ...MEMORY, nodeSelector: { rack: "none" } }, message: /Unschedulable: / },
    {
      name: "secretless",
      spec: { backend: redisWith({ auth: { passwordSecretRef: { name: "absent", key: "pass" } } }) },
      message: /it waits for its volumes, which need .*the Secret absent \(pass\)/,
    },
    {
      name: "imageless",
      spec: { ...MEMORY, image: `${NOWHERE}/weir:none` },
      message: /(ErrImagePull|ImagePullBackOff): /,
    },
    {
      name: "storeless",
      spec: { backend: redisWith({}) },
      message: /is not connected to the control plane: redis at 127\.0\.0\.1:1 does not answer/,
    },
  ])("$name: Degraded says so in time", async ({ name, spec, message }) => {
    const namespace = await createNamespace(`stuck-${name}`);
    await applyService(namespace, spec);
    const stuck = { Degraded: "True RolloutStuck", Ready: "False RolloutStuck" };
    // A pod may wait for its certificate before.
    const { Degraded } = await eventually(`the message of ${namespace}`, async () => {
      const found = await expectConditions(namespace, stuck);
      expect(found["Degraded"]?.message).toMatch(message);
      return found;
    });
    expect(Degraded!.sinceMs - (await lastStartMs(namespace))).toBeLessThanOrEqual(DEGRADED_MS);
  });

  it.concurrent("quota: Degraded has the words of the API server, and passes when there is room", async () => {
    const namespace = await createNamespace("stuck-quota");
    await kubectl(namespace, "create", "quota", "one", "--hard=pods=1");
    await applyService(namespace, {
      backend: { type: "memory", memory: { allowUnsharedCounters: true } },
      replicas: 2,
    });
    const { Degraded } = await expectConditions(namespace, { Degraded: "True RolloutStuck" });
    expect(Degraded?.message).toContain("exceeded quota: one");
    const { conditions } = fieldsOf((await get(namespace, "deployment/core"))["status"]);
    const refused = mappingsOf(conditions).find(({ type }) => type === "ReplicaFailure");
    expect(Degraded!.sinceMs - Date.parse(String(refused?.["lastTransitionTime"]))).toBeLessThanOrEqual(DEGRADED_MS);
    await kubectl(namespace, "delete", "quota", "one");
    await kubectl(namespace, "scale", "rls", "core", "--replicas=1");
    await waitUntilReady(namespace);
  });

  it.concurrent("an edit that crashes is not ready, while the pods before it serve", async () => {
    const namespace = await createNamespace("stuck-edit");
    await applyService(namespace, MEMORY);
    await waitUntilReady(namespace);
    await applyService(namespace, { ...MEMORY, env: [{ name: "LOG_LEVEL", value: "loud" }] });
    await expect(waitUntilReady(namespace, "5s")).rejects.toThrow("timed out waiting");
    const { Degraded } = await expectConditions(namespace, {
      Available: "True PodsReady",
      Progressing: "True RollingOut",
      Degraded: "True RolloutStuck",
      Ready: "False RolloutStuck",
    });
    expect(Degraded?.message).toMatch(/^pod core-.*: CrashLoopBackOff: .*exit code 1.*LOG_LEVEL/);
    expect(Degraded!.sinceMs - (await lastStartMs(namespace))).toBeLessThanOrEqual(DEGRADED_MS);
    await applyService(namespace, { ...MEMORY, env: [] });
    await waitUntilReady(namespace);
    await expectConditions(namespace, { Degraded: "False AsExpected" });
  });

  it.concurrent("an edit of a paused Deployment is not ready until the rollout is resumed", async () => {
    const namespace = await createNamespace("stuck-paused");
    await applyService(namespace, MEMORY);
    await waitUntilReady(namespace);
    await kubectl(namespace, "rollout", "pause", "deployment/core");
    await applyService(namespace, { ...MEMORY, shadowMode: true });
    await expect(waitUntilReady(namespace, "5s")).rejects.toThrow("timed out waiting");
    const { Degraded } = await expectConditions(namespace, {
      Available: "True PodsReady",
      Ready: "False RolloutPaused",
    });
    expect(Degraded?.message).toContain("kubectl rollout resume deployment/core");
    await kubectl(namespace, "rollout", "resume", "deployment/core");
    await waitUntilReady(namespace);
  });

  it.concurrent("a Service with a further label in its selector has its endpoints again", async () => {
    const namespace = await createNamespace("stuck-selector");
    await applyService(namespace, MEMORY);
    await waitUntilReady(namespace);
    const selector = JSON.stringify({ spec: { selector: { foreign: "yes" } } });
    await kubectl(namespace, "patch", "service", "core", "--type=merge", "-p", selector);
    await eventually("the selector", async () =>
      expect(fieldsOf((await get(namespace, "service/core"))["spec"])["selector"]).not.toHaveProperty("foreign"),
    );
    await eventually("the endpoints", async () => {
      const slices = mappingsOf((await get(namespace, "endpointslices"))["items"]);
      expect(slices.flatMap(({ endpoints }) => mappingsOf(endpoints))).not.toEqual([]);
    });
  });

  it.concurrent("the default fleet of another namespace is refused when it is named", async () => {
    const namespace = await createNamespace("stuck-fleet");
    await expect(applyService(namespace, { ...MEMORY, fleet: "shop.core" })).rejects.toThrow(
      'the fleet "shop.core" belongs to the namespace shop',
    );
  });
});

describe("a change of the leader", () => {
  it("flips no condition to Unknown", async () => {
    const namespace = await createNamespace("led");
    await applyService(namespace, MEMORY);
    await waitUntilReady(namespace);
    const seen = new Set<string>();
    const look = async (): Promise<void> => {
      for (const [type, { text }] of Object.entries(await conditionsOf(namespace))) seen.add(`${type} ${text}`);
    };
    await look();
    const before = new Set(seen);
    const holder = async (): Promise<string> =>
      await node.kubectl([
        "get",
        "lease",
        "weir-operator",
        "-n",
        "weir-system",
        "-o",
        "jsonpath={.spec.holderIdentity}",
      ]);
    const earlier = await holder();
    const leader = (await node.pods("weir-operator")).find(({ name }) => earlier.startsWith(name));
    await node.kubectl(["delete", "pod", leader!.name, "-n", "weir-system", "--wait=false"]);
    await eventually("another leader", async () => {
      await look();
      const next = await holder();
      expect([next !== "", next !== earlier]).toEqual([true, true]);
    });
    // It writes what it finds when another pod is ready.
    await kubectl(namespace, "rollout", "restart", "deployment/core");
    await eventually("the rollout to be seen", async () => {
      await look();
      expect(seen).toContain("Progressing True RollingOut");
    });
    await eventually("the end of the rollout", async () => {
      await look();
      expect((await conditionsOf(namespace))["Ready"]?.text).toBe("True Ready");
    });
    expect([...seen].filter((text) => !before.has(text) && text.includes("Unknown"))).toEqual([]);
  });
});

function redisWith(more: object): object {
  return { type: "redis", redis: { type: "single", single: { address: NOWHERE }, ...more } };
}
