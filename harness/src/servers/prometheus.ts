// A real Prometheus that scrapes programs of this machine every second and evaluates alert rules as often.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { reservePort } from "../processes/reserve-ports.ts";
import { ServerProcess } from "../processes/server-process.ts";
import { parse, stringify } from "yaml";

/** Ranges of tests are so much shorter than those of the files. */
const RANGE_DIVISOR = 60;

/** Shortest range of a test, in seconds: several scrapes, also of a machine that stands still for a moment. */
const RANGE_MIN_SECONDS = 6;

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** A program to scrape, with the labels that the Prometheus Operator gives to a pod. */
export interface ScrapeTarget {
  readonly job: string;
  /** Such as 127.0.0.1:8090. */
  readonly address: string;
}

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

/** Starts one with its files in `folder`; resolves when it answers. */
export async function startPrometheus(
  folder: string,
  options: { readonly targets: readonly ScrapeTarget[]; readonly rules: readonly string[] },
): Promise<Prometheus> {
  const ruleFiles = options.rules.map((text, index) => {
    const path = join(folder, `rules-${index}.yaml`);
    writeFileSync(path, text);
    return path;
  });
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: ruleFiles,
    scrape_configs: options.targets.map(({ job, address }) => ({
      job_name: job,
      static_configs: [{ targets: [address], labels: { namespace: "weir-system", pod: job } }],
    })),
  };
  const configPath = join(folder, "prometheus.yaml");
  writeFileSync(configPath, stringify(config));
  const address = `127.0.0.1:${await reservePort()}`;
  const flags = [`--config.file=${configPath}`, `--storage.tsdb.path=${join(folder, "prometheus")}`];
  const server = new ServerProcess({
    name: "prometheus",
    command: "prometheus",
    args: [...flags, `--web.listen-address=${address}`],
    logPath: join(folder, "prometheus.log"),
  });
  const url = `http://${address}`;
  await server.startAndWait(async () => {
    const response = await fetch(`${url}/-/ready`);
    if (!response.ok) throw new Error(`it answers ${response.status}`);
  });
  return new Prometheus(server, url);
}

/** A running Prometheus. */
export class Prometheus {
  readonly #server: ServerProcess;
  readonly #url: string;

  constructor(server: ServerProcess, url: string) {
    this.#server = server;
    this.#url = url;
  }

  /** The values of an instant query, with their labels; throws when Prometheus refuses the expression. */
  async query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]> {
    const data = await this.#get(`query?query=${encodeURIComponent(expression)}`);
    return (data as { result: { metric: Record<string, string> }[] }).result;
  }

  /** Names of all metrics that were scraped. */
  async metricNames(): Promise<ReadonlySet<string>> {
    return new Set((await this.#get("label/__name__/values")) as string[]);
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

  async stop(): Promise<void> {
    await this.#server.kill();
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const answer = (await response.json()) as { status: string; error?: string; data: unknown };
    if (answer.status !== "success") throw new Error(`Prometheus answers ${answer.error} to ${path}`);
    return answer.data;
  }
}
