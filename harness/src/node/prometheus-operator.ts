// The real Prometheus Operator: the configuration that it makes for a Prometheus of one namespace, from the PodMonitors and
// ServiceMonitors of all namespaces that have its labels.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { parse } from "yaml";
import { eventually } from "../processes/eventually.ts";
import { ROOT, runCommand } from "../processes/programs.ts";
import { reservePort } from "../processes/reserve-ports.ts";
import { ServerProcess } from "../processes/server-process.ts";
import { toolsFolder } from "../processes/tools.ts";
import type { NodeAccess } from "./node-access.ts";

/** Its kinds, of the version in harness/prometheus-operator/go.mod. */
const KINDS = "prometheus-operator-crd-0.85.0/prometheus-operator-crd";

const PROGRAM = "github.com/prometheus-operator/prometheus-operator/cmd/operator";

/** Labels by which Prometheus selects. */
export const SELECTED = { release: "main" } as const;

/** Adds the kinds of the operator to the API server. */
export async function installMonitoringKinds(node: NodeAccess): Promise<void> {
  const folder = join(toolsFolder(), KINDS);
  // Some are longer than the annotation of client-side apply may be.
  for (const file of readdirSync(folder))
    await node.kubectl(["apply", "--server-side", "-f", "-"], readFileSync(join(folder, file), "utf8"));
}

/**
 * Makes a Prometheus of the operator in a namespace, without a pod, and runs the operator until its configuration has so
 * many jobs; resolves with the configuration.
 */
export async function selectedConfiguration(node: NodeAccess, namespace: string, jobs: number): Promise<Mapping> {
  const [selector, everywhere] = [{ matchLabels: SELECTED }, {}];
  await node.apply({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "Prometheus",
    metadata: { name: "main", namespace },
    spec: {
      replicas: 0,
      evaluationInterval: "1s",
      podMonitorSelector: selector,
      podMonitorNamespaceSelector: everywhere,
      serviceMonitorSelector: selector,
      serviceMonitorNamespaceSelector: everywhere,
    },
  });
  const operator = await startOperator(node);
  try {
    return await eventually(`${jobs} jobs of Prometheus`, async () => {
      const { body } = await node.cluster.api.send("GET", `/api/v1/namespaces/${namespace}/secrets/prometheus-main`);
      const packed = Buffer.from(textOf(fieldsOf(body["data"])["prometheus.yaml.gz"]) ?? "", "base64");
      // In a pod of the operator, the reloader of the configuration replaces the variable.
      const configuration = fieldsOf(parse(gunzipSync(packed).toString().replaceAll("$(SHARD)", "0")));
      const names = mappingsOf(configuration["scrape_configs"]).map((job) => String(job["job_name"]));
      if (names.length !== jobs) throw new Error(`there are ${names.join(", ")}. ${operator.logTail()}`);
      return configuration;
    });
  } finally {
    await operator.kill();
  }
}

async function startOperator(node: NodeAccess): Promise<ServerProcess> {
  const built = await runCommand(`sh tools/build-oracle.sh harness/prometheus-operator ${PROGRAM}`, { cwd: ROOT });
  if (built.code !== 0) throw new Error(`Cannot build the Prometheus Operator: ${built.stderr}`);
  const listen = `--web.listen-address=127.0.0.1:${await reservePort()}`;
  const operator = new ServerProcess({
    name: "the Prometheus Operator",
    command: "/usr/bin/env",
    args: [`KUBECONFIG=${node.cluster.kubeconfigPath}`, built.stdout.trim(), listen],
    logPath: join(node.folder, "prometheus-operator.log"),
  });
  operator.start();
  return operator;
}
