// Weir as its charts install it in a cluster that has IPv6 alone, and in one of both families: listeners, probes, names in
// certificates and addresses in statuses are of the families that there are.
import { isIPv6 } from "node:net";
import { join } from "node:path";
import type { NodeFamilies } from "@weir/harness/node/node-addresses";
import { SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { installOn } from "@weir/harness/node/product";
import type { RealNode } from "@weir/harness/node/real-node";
import { ROOT } from "@weir/harness/processes/programs";
import { runToEnd } from "@weir/harness/processes/run-to-end";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import { limitManifest, manifestOf } from "@weir/harness/weir/weir";
import { RateLimitResponse_Code as Code } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Longest wait of one kubectl command. */
const WAIT = "--timeout=180s";

/** Two rules with one counter: the API server accepts them, and the webhook does not. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

describe.each<{ families: NodeFamilies; ofPods: readonly string[] }>([
  { families: "IPv6", ofPods: ["IPv6"] },
  { families: "both", ofPods: ["IPv4", "IPv6"] },
])("a cluster with addresses of the family or families $families", ({ families, ofPods }) => {
  let node: RealNode;
  const kubectl = async (...args: readonly string[]): Promise<string> =>
    await node.kubectl(["-n", SYSTEM_NAMESPACE, ...args]);

  beforeAll(async () => {
    node = await installOn(families);
  });

  afterAll(async () => {
    await (node as RealNode | undefined)?.stop(); // Not there when it did not start.
  });

  it("makes everything ready, and limits requests to any address of a pod", async () => {
    await kubectl("wait", "--for=condition=Ready", "rls/ratelimit", WAIT);
    await node.kubectl(["-n", SYSTEM_NAMESPACE, "apply", "-f", "-"], limitManifest("mail", 2));
    await kubectl("wait", "--for=condition=Ready", "rlc/mail", WAIT);
    const [pod] = await node.pods("weir-ratelimit", SYSTEM_NAMESPACE);
    const addresses = (await kubectl("get", "pod", pod!.name, "-o", "jsonpath={.status.podIPs[*].ip}")).split(" ");
    expect(addresses.map((address) => (isIPv6(address) ? "IPv6" : "IPv4"))).toEqual(ofPods);
    const service = await kubectl("get", "service", "ratelimit", "-o", "jsonpath={.spec.clusterIP}");
    for (const [index, address] of [...addresses, service].entries()) {
      const client = new RateLimitClient(`${isIPv6(address) ? `[${address}]` : address}:8081`);
      const ask = async (): Promise<Code> => {
        const entries = [{ key: "user", value: `user-${index}` }];
        return (await client.call({ domain: "mail", descriptors: [{ entries }] })).overallCode;
      };
      expect([await ask(), await ask(), await ask()]).toEqual([Code.OK, Code.OK, Code.OVER_LIMIT]);
      client.close();
    }
  });

  it("passes the tests of the chart, asks the webhook, and answers kubectl weir", async () => {
    await node.helm("test", "weir");
    await expect(
      node.kubectl(["-n", SYSTEM_NAMESPACE, "apply", "-f", "-"], manifestOf("twins", "twins", TWINS)),
    ).rejects.toThrow("composite key");
    const { kubeconfigPath } = node.cluster;
    const args = ["rollout", "-n", SYSTEM_NAMESPACE, "--kubeconfig", kubeconfigPath];
    const { code, stdout, stderr } = await runToEnd(join(ROOT, "cli/bin/kubectl-weir"), args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("mail");
  });
});
