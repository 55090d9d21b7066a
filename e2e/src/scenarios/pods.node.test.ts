// Uses the pods of an installed Weir as its users do: kubectl exec, logs and port-forward into one of each program, and
// `kubectl weir` (docs/cli.md).
import { delimiter, dirname, join } from "node:path";

import { reservePort } from "@weir/harness/processes/reserve-ports";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

import { NodeAccess, type NodePod, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { launcher, runCommand } from "@weir/harness/processes/programs";
import { startProgram } from "@weir/harness/processes/start-process";
import { startBrowser } from "@weir/harness/weir/browser";
import { PodClient } from "@weir/harness/weir/pod";
import { manifestOf } from "@weir/harness/weir/weir";

const NAMESPACE = "pods";

describe("the pods of the installed product", () => {
  const node = new NodeAccess(inject("node"));

  beforeAll(async () => {
    await node.kubectl(["create", "namespace", NAMESPACE]);
    const metadata = { name: "core", namespace: NAMESPACE };
    // A user that no image knows, as OpenShift chooses one for each namespace.
    const podSecurityContext = { runAsUser: 1_000_650_000, fsGroup: 1_000_650_000 };
    const spec = { replicas: 1, backend: { type: "memory" }, podSecurityContext };
    await node.apply({ apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", metadata, spec });
    await node.kubectl(["wait", "--for=condition=Ready", "rls/core", "-n", NAMESPACE, "--timeout=100s"]);
    const rule = { key: "user", rateLimit: { unit: "year", requestsPerUnit: 1 } };
    const text = manifestOf("limits", "pods", [rule], { fleets: [`${NAMESPACE}.core`] });
    await node.kubectl(["apply", "-n", NAMESPACE, "-f", "-"], text);
    await node.kubectl(["wait", "--for=condition=Ready", "rlc/limits", "-n", NAMESPACE, "--timeout=100s"]);
  });

  afterAll(async () => {
    await node.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
  });

  async function podOf(program: string, namespace: string): Promise<NodePod> {
    const [pod] = await node.pods(program, namespace);
    return pod!;
  }

  it.each([
    { program: "weir-operator", namespace: SYSTEM_NAMESPACE, port: 8091, path: "/metrics", logged: "Operator is up" },
    {
      program: "weir-control-plane",
      namespace: SYSTEM_NAMESPACE,
      port: 8090,
      path: "/readyz",
      logged: "Control plane is up",
    },
    {
      program: "weir-ratelimit",
      namespace: NAMESPACE,
      port: 6070,
      path: "/rlconfig",
      logged: "Listening for gRPC",
    },
  ])(
    "let kubectl exec into, log and forward a port of $program",
    async ({ program, namespace, port, path, logged }) => {
      const { name } = await podOf(program, namespace);
      const exec = await node.kubectl(["exec", "-n", namespace, name, "--", program, "--version"]);
      expect(exec).toContain(program);
      expect(await node.kubectl(["logs", "-n", namespace, name])).toContain(logged);
      const local = await reservePort();
      const { kubectlPath, kubeconfigPath, folder } = node.cluster;
      const own = ["--kubeconfig", kubeconfigPath, "--cache-dir", join(folder, "kubectl-cache")];
      const args = [...own, "port-forward", "-n", namespace, name, `${local}:${port}`];
      const forwarding = startProgram(kubectlPath, args);
      try {
        const direct = await fetch(`http://${(await podOf(program, namespace)).address}:${port}${path}`);
        await eventually("the port", async () => {
          expect((await fetch(`http://127.0.0.1:${local}${path}`)).status).toBe(direct.status);
        });
        expect(direct.status).toBe(200);
      } finally {
        await forwarding.end();
      }
    },
  );

  it("have reports of the control plane for kubectl weir alone, and not for other pods", async () => {
    const { address } = await podOf("weir-control-plane", SYSTEM_NAMESPACE);
    const path = "/weir.rollout.v1.RolloutService/GetRollout";
    expect((await fetch(`http://${address}:8090${path}`)).status).toBe(404);
    await expect(fetch(`http://${address}:8092${path}`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it.each([
    { command: "status", code: 0, output: /^rlc\/limits +True +/m },
    { command: "explain --domain pods -d user=ann", code: 0, output: /1 per year|1\/year/ },
    // On the defaults of the chart, which serve no reports on the HTTP port.
    {
      command: `rollout --wait --fleet ${NAMESPACE}.core limits`,
      code: 0,
      output: /^\S+ 1 resource served and ACKed by the only pod$/m,
    },
  ])("answer kubectl weir $command", async ({ command, code, output }) => {
    const result = await runCommand(`kubectl weir ${command} -n ${NAMESPACE}`, terminal());
    expect([result.code, result.stdout + result.stderr]).toEqual([code, expect.stringMatching(output)]);
  });

  it("show what they count to kubectl weir top and on the page of kubectl weir console", async () => {
    const pod = new PodClient(`http://${(await podOf("weir-ratelimit", NAMESPACE)).address}:8080`);
    for (let call = 0; call < 3; call++) await pod.ask("pods", { user: "bob" });
    const fleet = `${NAMESPACE}.core`;
    await eventually("the counts", async () => {
      const { code, stdout } = await runCommand(`kubectl weir top keys --fleet ${fleet} --once -o json`, terminal());
      expect(code).toBe(0);
      expect((JSON.parse(stdout) as { rules: unknown }).rules).toMatchObject([
        { path: "pods.user", keys: { byRejections: [{ values: [{ hash: expect.any(String) as unknown }] }] } },
      ]);
    });
    const { cwd, env } = terminal();
    const program = startProgram(node.cluster.kubectlPath, ["weir", "console", "--no-open"], env, { cwd });
    const browser = await startBrowser();
    try {
      const [url] = await program.find(/http:\S+/);
      const page = await browser.newPage();
      await page.goto(url);
      await page.getByRole("link", { name: "pods.user", exact: true }).click();
      await page.getByText("1 per year").waitFor();
      await page.getByRole("table", { name: "Keys with most rejections" }).waitFor();
      expect(await page.getByRole("status").innerText()).toBe("");
    } finally {
      await browser.close();
      await program.end();
    }
  });

  /** The folder and the environment in which kubectl finds its plugin and the cluster. */
  function terminal() {
    const { kubectlPath, kubeconfigPath, folder } = node.cluster;
    const PATH = [dirname(launcher("weir")), dirname(kubectlPath), "/usr/bin", "/bin"].join(delimiter);
    return { cwd: folder, env: { PATH, KUBECONFIG: kubeconfigPath } };
  }
});
