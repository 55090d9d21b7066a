// RateLimitServices in a cluster with Weir (docs/operator-data-planes.md): a resource becomes ready pods that decide, and
// changes of others are repaired or kept. Each test continues where the one before ended.
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { NodeAccess } from "@weir/harness/node/node-access";
import { podUrl } from "@weir/harness/node/product";
import { eventually } from "@weir/harness/processes/eventually";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import { manifestOf } from "@weir/harness/weir/weir";
import { PodClient } from "@weir/harness/weir/pod";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

const NAMESPACES = ["planes", "planes2", "other-planes"];
const [SHOP, SHOP2, OTHER] = NAMESPACES as [string, string, string];
/** Users of Redis with their passwords, as the Secret has them. */
const USERS = ["first:one", "second:two"] as const;

describe("RateLimitServices in a cluster", () => {
  const node = new NodeAccess(inject("node"));
  let redis: Awaited<ReturnType<typeof startRedis>>;

  const kubectl = async (...args: readonly string[]): Promise<string> => await node.kubectl(args);
  const get = async (kind: string, name: string, namespace = SHOP): Promise<Mapping> =>
    JSON.parse(await kubectl("get", kind, name, "-n", namespace, "--output=json")) as Mapping;
  const list = async (kind: string, namespace = SHOP): Promise<readonly Mapping[]> =>
    mappingsOf(fieldsOf(JSON.parse(await kubectl("get", kind, "-n", namespace, "--output=json")))["items"]);
  const patch = async (name: string, namespace: string, spec: object): Promise<void> => {
    await kubectl("patch", "rls", name, "-n", namespace, "--type=merge", "-p", JSON.stringify({ spec }));
  };
  /** Conditions of a RateLimitService as texts, such as `True PodsReady`. */
  const conditionsOf = async (name: string, namespace = SHOP): Promise<Mapping> => {
    const { conditions } = fieldsOf((await get("rls", name, namespace))["status"]);
    return Object.fromEntries(
      mappingsOf(conditions).map(({ type, status, reason }) => [String(type), `${String(status)} ${String(reason)}`]),
    );
  };
  const applyService = async (namespace: string, name: string, content: object): Promise<void> => {
    const metadata = { name, namespace };
    // Of two processors, which the pods of other tests need too.
    const spec = { resources: { requests: { cpu: "10m" } }, ...content };
    await node.apply({ apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", metadata, spec });
  };
  const events = async (namespace: string): Promise<readonly string[]> =>
    (await list("events", namespace)).map(
      ({ involvedObject, reason, message }) =>
        `${String(fieldsOf(involvedObject)["name"])} ${String(reason)}: ${String(message)}`,
    );
  const specOf = (object: Mapping): Mapping => fieldsOf(object["spec"]);
  const replicas = async (): Promise<unknown> => specOf(await get("deployment", "limits"))["replicas"];

  beforeAll(async () => {
    redis = await startRedis(node.folder, { host: node.addresses.host });
    for (const [name = "", password] of USERS.map((user) => user.split(":")))
      await sendCommand(redis, "ACL", "SETUSER", name, "on", `>${password}`, "~*", "&*", "+@all");
    for (const name of NAMESPACES) await kubectl("create", "namespace", name);
    await kubectl("create", "secret", "generic", "store", "-n", SHOP, `--from-literal=pass=${USERS[0]}`);
  });

  afterAll(async () => {
    await kubectl("delete", "namespace", ...NAMESPACES, "--wait=false");
    await redis.stop();
  });

  it("a resource becomes ready pods and the objects around them", async () => {
    const auth = { passwordSecretRef: { name: "store", key: "pass" } };
    await applyService(SHOP, "limits", {
      backend: { type: "redis", redis: { type: "single", single: { address: redis.address }, auth } },
      podAnnotations: { team: "limits" },
    });
    await kubectl("wait", "--for=condition=Available", "rls/limits", "-n", SHOP, "--timeout=100s");
    await kubectl("rollout", "status", "deployment/limits", "-n", SHOP, "--timeout=100s");
    const kinds = ["deployment", "service", "serviceaccount", "pdb", "networkpolicy"];
    for (const kind of kinds) expect(fieldsOf((await get(kind, "limits"))["metadata"])["name"]).toBe("limits");
    expect(await list("hpa")).toEqual([]);
    await eventually("the columns", async () => {
      const [, row = ""] = (await kubectl("get", "rls", "-n", SHOP)).split("\n");
      expect(row.split(/\s+/).slice(0, 5)).toEqual(["limits", "2", "2", "redis", `${SHOP}.limits`]);
    });
    await kubectl("wait", "--for=condition=Ready", "rls/limits", "-n", SHOP, "--timeout=100s");
    expect(await conditionsOf("limits")).toMatchObject({
      Available: "True PodsReady",
      Degraded: "False AsExpected",
      Connected: expect.stringMatching(/^True /) as string,
    });
  });

  it("kubectl scale rls scales the pods", async () => {
    await kubectl("scale", "rls", "limits", "-n", SHOP, "--replicas=3");
    await eventually("three pods", async () => {
      expect(fieldsOf((await get("rls", "limits"))["status"])).toMatchObject({ replicas: 3, readyReplicas: 3 });
    });
    await eventually("the event", async () => expect(await events(SHOP)).toContain("limits Scaled: from 2 to 3 pods"));
  });

  it("drift is repaired, and what others have added is kept", async () => {
    await kubectl("annotate", "deployment", "limits", "-n", SHOP, "mesh.example/injected=yes");
    await kubectl("rollout", "restart", "deployment/limits", "-n", SHOP);
    await kubectl("set", "env", "deployment/limits", "-n", SHOP, "CONFIG_TYPE=FILE", "FOREIGN=1");
    await kubectl("delete", "service", "limits", "-n", SHOP);
    await eventually("the repair", async () => {
      const template = fieldsOf(specOf(await get("deployment", "limits"))["template"]);
      const [container] = mappingsOf(specOf(template)["containers"]);
      const env = mappingsOf(container?.["env"]);
      expect(env).toContainEqual({ name: "CONFIG_TYPE", value: "GRPC_XDS_SOTW" });
      expect(env).toContainEqual({ name: "CONFIG_GRPC_XDS_DELTA", value: "true" });
      expect(env).toContainEqual({ name: "FOREIGN", value: "1" });
      expect(fieldsOf(fieldsOf(template["metadata"])["annotations"])).toMatchObject({
        team: "limits",
        "kubectl.kubernetes.io/restartedAt": expect.any(String) as string,
      });
      await get("service", "limits");
    });
    const { annotations } = fieldsOf((await get("deployment", "limits"))["metadata"]);
    expect(annotations).toMatchObject({ "mesh.example/injected": "yes" });
  });

  it("an autoscaler takes the number of pods over, without a moment of fewer", async () => {
    const watched: unknown[] = [];
    await patch("limits", SHOP, { replicas: null, autoscaling: { maxReplicas: 6 } });
    await eventually("the autoscaler", async () => {
      watched.push(await replicas());
      expect(specOf(await get("hpa", "limits"))).toMatchObject({ minReplicas: 2, maxReplicas: 6 });
    });
    await kubectl("scale", "deployment", "limits", "-n", SHOP, "--replicas=4");
    await patch("limits", SHOP, { replicas: null, autoscaling: { maxReplicas: 7 } });
    await eventually("the change", async () => {
      expect(specOf(await get("hpa", "limits"))).toMatchObject({ maxReplicas: 7 });
    });
    expect([new Set(watched), await replicas()]).toEqual([new Set([3]), 4]);
    await patch("limits", SHOP, { autoscaling: null, replicas: 2 });
    await eventually("a fixed number again", async () => {
      expect([await replicas(), await list("hpa")]).toEqual([2, []]);
    });
  });

  it("a fleet belongs to the oldest resource that names it, and passes on when that goes", async () => {
    const backend = { type: "memory" };
    await applyService(SHOP, "first", { backend, fleet: "gold" });
    await eventually("the first", async () =>
      expect((await conditionsOf("first"))["Available"]).toBe("True PodsReady"),
    );
    // Of the same second, the first by namespace owns it.
    await applyService(SHOP2, "second", { backend, fleet: "gold" });
    await eventually("the conflict", async () =>
      expect(await conditionsOf("second", SHOP2)).toMatchObject({
        Degraded: "True FleetConflict",
        Available: "False FleetConflict",
        Ready: "False FleetConflict",
      }),
    );
    expect(await list("deployment", SHOP2)).toEqual([]);
    await eventually("the event", async () =>
      expect(await events(SHOP2)).toContainEqual(expect.stringMatching(/^second FleetConflict: /)),
    );
    await kubectl("delete", "rls", "first", "-n", SHOP);
    await eventually("the heir", async () =>
      expect((await conditionsOf("second", SHOP2))["Available"]).toBe("True PodsReady"),
    );
    await eventually("the rest of the first to be deleted", async () =>
      expect((await list("deployment")).map((each) => fieldsOf(each["metadata"])["name"])).toEqual(["limits"]),
    );
  });

  it("the status says what the API server refuses", async () => {
    const backend = { type: "memory" };
    await applyService(OTHER, "odd", { backend, podLabels: { "no label": "x" } });
    await eventually("the condition", async () =>
      expect((await conditionsOf("odd", OTHER))["Degraded"]).toBe("True Refused"),
    );
    expect(await kubectl("get", "rls", "odd", "-n", OTHER, "--output=yaml")).toContain("no label");
    await applyService(OTHER, "odd", { backend, podLabels: { label: "x" } });
    await eventually("the pods", async () =>
      expect((await conditionsOf("odd", OTHER))["Available"]).toBe("True PodsReady"),
    );
    await kubectl("delete", "rls", "odd", "-n", OTHER);
  });

  it("an object of another owner is not touched", async () => {
    const ports = [{ port: 80 }];
    const metadata = { name: "taken", namespace: OTHER };
    await node.apply({ apiVersion: "v1", kind: "Service", metadata, spec: { ports, selector: { app: "web" } } });
    await applyService(OTHER, "taken", { backend: { type: "memory" } });
    await eventually("the condition", async () =>
      expect((await conditionsOf("taken", OTHER))["Degraded"]).toBe("True NameTaken"),
    );
    expect(specOf(await get("service", "taken", OTHER))["selector"]).toEqual({ app: "web" });
    await kubectl("delete", "service", "taken", "-n", OTHER);
    await eventually("the pods", async () =>
      expect((await conditionsOf("taken", OTHER))["Available"]).toBe("True PodsReady"),
    );
  });

  it("the pods decide, each over the store that they share, also when its password changes under them", async () => {
    const rule = { key: "user", rateLimit: { unit: "year", requestsPerUnit: 3 } };
    await node.kubectl(
      ["apply", "-f", "-"],
      manifestOf("login", "login", [rule], { namespace: SHOP, fleets: [`${SHOP}.limits`] }),
    );
    await kubectl("wait", "--for=condition=Ready", "rlc/login", "-n", SHOP, "--timeout=100s");
    await kubectl("rollout", "status", "deployment/limits", "-n", SHOP, "--timeout=100s");
    const pods = await eventually("two pods", async () => {
      const found = (await node.pods("weir-ratelimit", SHOP)).filter(
        ({ labels }) => labels["app.kubernetes.io/instance"] === "limits",
      );
      expect(found.map(({ isReady }) => isReady)).toEqual([true, true]);
      return found;
    });
    const clients = pods.map((pod) => new PodClient(podUrl(pod)));
    const ask = async (user: string): Promise<readonly number[]> => {
      const codes: number[] = [];
      for (let call = 0; call < 4; call++) codes.push(await clients[call % 2]!.ask("login", { user }));
      return codes;
    };
    expect(await ask("ann")).toEqual([200, 200, 200, 429]);
    const secret = JSON.stringify({ stringData: { pass: USERS[1] } });
    await kubectl("patch", "secret", "store", "-n", SHOP, "--type=merge", "-p", secret);
    const clientsOfRedis = async (): Promise<string> => await sendCommand(redis, "CLIENT", "LIST");
    await eventually("the connections of the next user alone", async () => {
      expect(await ask("ann")).toEqual([429, 429, 429, 429]);
      expect(await clientsOfRedis()).not.toContain("user=first");
    });
    expect(await clientsOfRedis()).toContain("user=second");
    await sendCommand(redis, "ACL", "DELUSER", "first");
    expect(await ask("bob")).toEqual([200, 200, 200, 429]);
    expect((await Promise.all(pods.map((pod) => node.pod(pod)))).map(({ restarts }) => restarts)).toEqual([0, 0]);
  });

  it("what belongs to a deleted resource is deleted with it", async () => {
    await kubectl("delete", "rls", "limits", "-n", SHOP);
    await eventually("nothing to be left", async () => {
      const left = await list("deployment,service,serviceaccount,pdb,networkpolicy,pods");
      expect(left.map((each) => fieldsOf(each["metadata"])["name"])).toEqual(["default"]);
    });
  });
});
