// Tests of `weir rollout` with the replicas of a cluster (docs/cli.md): a control plane over a ConfigMap, in a namespace of
// its own, which the command finds through its Service and reaches through the API server and the kubelet.
import { NodeAccess, type NodePod } from "@weir/harness/node/node-access";
import { eventually } from "@weir/harness/processes/eventually";
import { manifestOf } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

import { run } from "./rollout.suite.ts";

const NAMESPACE = "rollout";
const SERVICE = "weir-control-plane-headless";

/** A control plane with reports on its HTTP port only, as of earlier versions. */
const EARLIER = "earlier";

/** How long a control plane keeps a pod that hangs, in milliseconds. */
const HANGING_MAX_MS = 10_000;

describe("weir rollout --from-cluster", () => {
  const node = new NodeAccess(inject("node"));
  let [controlPlanes, pods]: readonly NodePod[][] = [];

  beforeAll(async () => {
    await node.kubectl(["create", "namespace", NAMESPACE]);
    await applyLimit(1);
    await makeService(SERVICE, "cp");
    await makeService(EARLIER, EARLIER);
    const source = { SOURCE_DIRECTORY: "/limits", ADS_PLAINTEXT: "true" };
    await deploy("cp", "weir-control-plane", { ...source, HTTP_REPORTS: "false", CONSOLE_PORT: "8092" });
    await deploy(EARLIER, "weir-control-plane", { ...source, CONSOLE_PORT: "0" });
    await deploy("rls", "weir-ratelimit", {
      BACKEND_TYPE: "memory",
      USE_PUSHSTATS: "false",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_SERVER_URL: `${SERVICE}:18000`,
      CONFIG_GRPC_XDS_NODE_METADATA: "pod=$(POD)",
    });
    for (const name of ["cp", EARLIER, "rls"])
      await node.kubectl(["rollout", "status", `deployment/${name}`, "-n", NAMESPACE, "--timeout=100s"]);
    [controlPlanes, pods] = (await Promise.all(["cp", "rls"].map((app) => node.podsBy(`app=${app}`, NAMESPACE)))).map(
      (each) => each.toSorted((one, other) => one.name.localeCompare(other.name)),
    );
  });

  afterAll(async () => {
    await node.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
  });

  async function applyLimit(requestsPerUnit: number): Promise<void> {
    const text = manifestOf("shop", "shop", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }], {
      namespace: "default",
    });
    const metadata = { name: "limits", namespace: NAMESPACE };
    await node.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { "shop.yaml": text } });
  }

  async function makeService(name: string, app: string): Promise<void> {
    const ports = Object.entries({ ads: 18_000, http: 8090 }).map(([port, number]) => ({ name: port, port: number }));
    const spec = { selector: { app }, clusterIP: "None", ports };
    await node.apply({ apiVersion: "v1", kind: "Service", metadata: { name, namespace: NAMESPACE }, spec });
  }

  /** Runs two pods of a program of Weir with plain HTTP and these settings. */
  async function deploy(app: string, program: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const env = [
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ...Object.entries(settings).map(([name, value]) => ({ name, value })),
    ];
    const image = (await node.imageOf("weir-control-plane")).replace("weir-control-plane", program);
    const container = {
      ...{ name: app, image, command: [program], env, volumeMounts: [{ name: "limits", mountPath: "/limits" }] },
      readinessProbe: {
        httpGet: {
          path: program === "weir-ratelimit" ? "/healthcheck" : "/readyz",
          port: program === "weir-ratelimit" ? 8080 : 8090,
        },
      },
    };
    const spec = { containers: [container], volumes: [{ name: "limits", configMap: { name: "limits" } }] };
    await node.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: app, namespace: NAMESPACE },
      spec: { replicas: 2, selector: { matchLabels: { app } }, template: { metadata: { labels: { app } }, spec } },
    });
  }

  async function rollout(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const place = [
      "--from-cluster",
      "--kubeconfig",
      node.cluster.kubeconfigPath,
      "--control-plane-namespace",
      NAMESPACE,
    ];
    const { ended, output } = run([...place, ...args]);
    return { code: await ended, ...output };
  }

  it("asks the ready replicas of the Service through the API server, and merges their answers", async () => {
    await eventually("both pods", async () => {
      const { code, stdout, stderr } = await rollout("-o", "json", "default/shop");
      expect([code, stderr]).toEqual([0, ""]);
      expect(JSON.parse(stdout)).toMatchObject({
        ok: true,
        replicas: controlPlanes!.map(({ name }) => ({ server: `${NAMESPACE}/${name}`, replica: name })),
        pods: pods!.map(({ name }) => ({ pod: name })),
      });
    });
  });

  async function expectPending(pod: string): Promise<void> {
    const { code, stdout } = await rollout("-o", "json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ pods: [{ pod, state: "pending" }, { state: "accepted" }] });
  }

  it("waits through a watch until every pod has ACKed", async () => {
    const [slow] = pods!;
    let limit = 1;
    // The kubelet may bring an edit later than the control plane gives up a pod that hangs: then once more.
    await eventually("a pod that has not ACKed", async () => {
      await eventually("both pods", async () => expect((await rollout()).code).toBe(0));
      await node.signal(slow!, "SIGSTOP");
      await applyLimit((limit += 1));
      try {
        await eventually("the edit without its ACK", () => expectPending(slow!.name), HANGING_MAX_MS);
      } catch (error) {
        await node.signal(slow!, "SIGCONT");
        throw error;
      }
    });
    const waiting = rollout("--wait", "--timeout", "60");
    await node.signal(slow!, "SIGCONT");
    const { code, stdout } = await waiting;
    expect([code, stdout.trim().split("\n").at(-1)]).toEqual([
      0,
      expect.stringMatching(/1 resource served and ACKed by all 2 pods$/) as string,
    ]);
  });

  it("asks the HTTP port of replicas without a console listener, and says so", async () => {
    // The kubelet brings the edit before to each replica in its own time.
    const stderr = await eventually("replicas that serve the same", async () => {
      const answer = await rollout("--control-plane-service", EARLIER);
      expect(answer.code).toBe(0);
      return answer.stderr;
    });
    const names = (await node.podsBy(`app=${EARLIER}`, NAMESPACE)).map(({ name }) => name);
    const lines = names.map(
      (name) =>
        `weir rollout: ${NAMESPACE}/${name} does not listen on port 8092 (CONSOLE_PORT), as earlier versions do not: asked its port 8090 (HTTP_PORT)`,
    );
    expect(stderr.trim().split("\n").toSorted()).toEqual(lines.toSorted());
  });

  it("names the replicas that do not answer, with the words of their kubelet", async () => {
    const { code, stderr } = await rollout("--control-plane-port", "1");
    expect(code).toBe(2);
    for (const { name } of controlPlanes!)
      expect(stderr).toMatch(
        new RegExp(`^weir rollout: Cannot reach ${NAMESPACE}/${name}: .*the kubelet says "error forwarding port`, "m"),
      );
  });

  it("names the ports of the Service when the wanted one is not among them", async () => {
    expect((await rollout("--control-plane-port", "grpc")).stderr).toMatch(
      /it has no port grpc, name one with --control-plane-port \(known are: (ads, http|http, ads)\) or give its number/,
    );
  });
});
