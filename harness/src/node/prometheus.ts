// A real Prometheus in a pod, which reads what the Prometheus Operator selects for it, and evaluates alert rules every second.
import { mappingsOf } from "@weir/kubernetes/mapping";
import { parse, stringify } from "yaml";
import { findTool } from "../processes/tools.ts";
import type { NodeAccess } from "./node-access.ts";
import { FILES_PATH, importProgram, startNodePod } from "./node-pods.ts";
import { selectedConfiguration } from "./prometheus-operator.ts";

/** Namespace of Prometheus. */
export const MONITORING_NAMESPACE = "monitoring";

/** Port of Prometheus. */
const PORT = 9090;

/** Operator, control plane, data plane and account service. */
const JOBS = 4;

/** Ranges of tests are so much shorter than those of the files. */
const RANGE_DIVISOR = 60;

/** Shortest range of a test, in seconds: several scrapes, also of a machine that stands still for a moment. */
const RANGE_MIN_SECONDS = 6;

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** An alert as Prometheus reports it. */
export interface AlertState {
  readonly name: string;
  readonly state: "inactive" | "pending" | "firing";
  readonly health: string;
  readonly lastError?: string;
  readonly evaluatedMs: number;
}

/** The text of an alert file for a test: `for` is 1 s, and ranges are a sixtieth, so that alerts fire in seconds. */
export function shortenRules(text: string): string {
  const file = parse(text) as { groups: { rules: { for?: string; expr: string }[] }[] };
  for (const { rules } of file.groups)
    for (const rule of rules) {
      if (rule.for !== undefined) rule.for = "1s";
      rule.expr = shortenRanges(rule.expr);
    }
  return stringify(file);
}

/** The same for one expression. */
export function shortenRanges(expression: string): string {
  return expression.replaceAll(/\[(\d+)([smhd])\]/g, (_, count: string, unit: string) => {
    const seconds = (Number(count) * (UNIT_SECONDS[unit] ?? 1)) / RANGE_DIVISOR;
    return `[${Math.max(RANGE_MIN_SECONDS, Math.round(seconds))}s]`;
  });
}

/**
 * Starts one with the rules, for the programs that the Prometheus Operator selects, and for rate limit pods of later at the
 * host `late`; resolves when it listens.
 */
export async function startPrometheus(node: NodeAccess, rules: readonly string[], late: string): Promise<Prometheus> {
  const namespace = MONITORING_NAMESPACE;
  await node.kubectl(["create", "namespace", namespace]);
  const account = `--serviceaccount=${namespace}:default`;
  await node.kubectl(["create", "clusterrolebinding", "prometheus", "--clusterrole=view", account]);
  const selected = await selectedConfiguration(node, namespace, JOBS);
  const ruleFiles = Object.fromEntries(rules.map((text, index) => [`rules-${index}.yaml`, text]));
  const targets = [{ targets: [`${late}:9090`], labels: { namespace, pod: late } }];
  const lateJob = { job_name: "late", scrape_interval: "1s", static_configs: targets };
  const config = {
    ...selected,
    rule_files: Object.keys(ruleFiles),
    scrape_configs: [...mappingsOf(selected["scrape_configs"]), lateJob],
  };
  const { address } = await startNodePod(node, {
    namespace,
    name: "prometheus",
    image: await importProgram(node, findTool("prometheus-0.316.0", "prometheus")),
    args: [`--config.file=${FILES_PATH}/prometheus.yaml`, "--storage.tsdb.path=/tmp/data"],
    files: { "prometheus.yaml": stringify(config), ...ruleFiles },
    port: PORT,
  });
  return new Prometheus(`http://${address}:${PORT}`);
}

/** A running Prometheus. */
export class Prometheus {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The values of an instant query, with their labels; throws when Prometheus refuses the expression. */
  async query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]> {
    const data = await this.#get(`query?query=${encodeURIComponent(expression)}`);
    return (data as { result: { metric: Record<string, string> }[] }).result;
  }

  /** Every alert rule with its state. */
  async alerts(): Promise<readonly AlertState[]> {
    const { groups } = (await this.#get("rules?type=alert")) as {
      groups: { rules: (Omit<AlertState, "evaluatedMs"> & { lastEvaluation: string })[] }[];
    };
    return groups.flatMap(({ rules }) =>
      rules.map(({ lastEvaluation, ...rule }) => ({ ...rule, evaluatedMs: Date.parse(lastEvaluation) })),
    );
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const answer = (await response.json()) as { status: string; error?: string; data: unknown };
    if (answer.status !== "success") throw new Error(`Prometheus answers ${answer.error} to ${path}`);
    return answer.data;
  }
}
