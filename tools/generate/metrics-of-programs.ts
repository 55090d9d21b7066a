// The metrics of the programs with their help texts: from scrapes of registries that the programs' own code makes, and
// from the mapping file of the rate limit service.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";

export interface DescribedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The metrics of a program, without those of Node.js. */
export interface ProgramMetrics {
  readonly program: string;
  readonly metrics: readonly DescribedMetric[];
}

/** Labels that Prometheus' text format adds by itself. */
const IMPLIED_LABELS = new Set(["le", "quantile"]);

/** Metrics of prom-client about the process. */
const OF_THE_PROCESS = /^(process|nodejs)_/;

/** Functions of the programs that this file calls; arguments stand for the running program. */
type Factory = (...parts: readonly unknown[]) => Record<string, (...parts: readonly unknown[]) => unknown>;

/** All programs of the repository at `root`. */
export async function readPrograms(root: string): Promise<readonly ProgramMetrics[]> {
  const mapping = readFileSync(join(root, "ratelimit/statistics-mapping.yaml"), "utf8");
  return [
    { program: "weir-ratelimit", metrics: mappedMetrics(mapping) },
    { program: "weir-control-plane", metrics: metricsIn(await scrapeControlPlane(root)) },
    { program: "weir-operator", metrics: metricsIn(await scrapeOperator(root)) },
    { program: "weir-account", metrics: metricsIn(await scrapeAccount(root)) },
  ];
}

/** The metrics in a text of Prometheus' format, by name. */
export function metricsIn(text: string): readonly DescribedMetric[] {
  const helps = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].filter(([, name = ""]) => !OF_THE_PROCESS.test(name));
  const metrics = helps.map(([, name = "", help = ""]) => {
    const type = new RegExp(`^# TYPE ${name} (\\S+)$`, "m").exec(text)?.[1] ?? "untyped";
    const series = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, "gm"))];
    const labels = series.flatMap(([, pairs = ""]) => [...pairs.matchAll(/(\w+)="/g)].map(([, label = ""]) => label));
    return { name, type, help, labels: [...new Set(labels)].filter((label) => !IMPLIED_LABELS.has(label)) };
  });
  return metrics.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** The metrics of a mapping file that have a help text, in its order; the labels of all its lines. */
export function mappedMetrics(text: string): readonly DescribedMetric[] {
  const { mappings } = parse(text) as {
    mappings: { name: string; help?: string; match_metric_type: string; labels?: Record<string, string> }[];
  };
  const found = new Map<string, DescribedMetric>();
  for (const { name, help, match_metric_type: kind, labels = {} } of mappings) {
    if (help === undefined) continue;
    const known = found.get(name)?.labels ?? [];
    const all = [...new Set([...known, ...Object.keys(labels)])];
    found.set(name, { name, type: kind === "observer" ? "histogram" : kind, help, labels: all });
  }
  return [...found.values()];
}

async function load(root: string, path: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>;
}

async function scrapeControlPlane(root: string): Promise<string> {
  const { createMetrics } = (await load(root, "control-plane/src/status/metrics.ts")) as { createMetrics: Factory };
  const podStates = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  const fleet = { fleet: "*", version: "1", publishedAt: null, bytes: 0, resources: 0, heldBack: null, podStates };
  const source = { error: null, syncedAt: null };
  const metrics = createMetrics({
    report: () => ({ ready: true, fleets: [fleet], resources: [], refusals: [], source }),
    streams: () => 0,
    watchers: () => 0,
    pods: { onChanged: () => undefined },
    publisher: () => undefined,
    source: { counts: () => ({ lists: 0, watches: 0, failures: { expired: 0 }, readsLastGood: true }) },
    certificate: () => ({ beginMs: 0, endMs: 0 }),
  });
  return ((await metrics["scrape"]?.()) as { readonly text: string }).text;
}

async function scrapeOperator(root: string): Promise<string> {
  const { createMetrics } = (await load(root, "operator/src/metrics.ts")) as { createMetrics: Factory };
  const { ControllerMetricsSet } = (await load(root, "operator/src/reconcile/controller-metrics.ts")) as {
    ControllerMetricsSet: new (registry: unknown) => { of: Factory };
  };
  const { WebhookMetrics } = (await load(root, "operator/src/webhook/webhook-metrics.ts")) as {
    WebhookMetrics: new (deps: object, webhook: string) => unknown;
  };
  const monotonicMs = (): number => 0;
  const metrics = createMetrics("weir-operator", () => true);
  const registry = metrics["registry"] as unknown as { metrics: () => Promise<string> };
  metrics["answered"]?.({ method: "GET", host: "host", status: 200 });
  const controller = new ControllerMetricsSet(registry).of("controller", { concurrency: 1, monotonicMs });
  controller["read"]?.({ depth: 0, running: 0, workedMs: () => [] });
  new WebhookMetrics({ registry, monotonicMs }, "/validate");
  const { observeResources } = (await load(root, "operator/src/status/resource-metrics.ts")) as {
    observeResources: (registry: unknown, caches: object) => void;
  };
  const resource = { namespace: "shop", name: "checkout", content: { spec: { shadowMode: true } } };
  const objects = { list: () => [resource] };
  observeResources(registry, { configs: objects, services: objects });
  return await registry.metrics();
}

async function scrapeAccount(root: string): Promise<string> {
  const { createAccountMetrics } = (await load(root, "account/src/metrics/account-metrics.ts")) as {
    createAccountMetrics: Factory;
  };
  const metrics = createAccountMetrics([{ route: "/", method: "GET", status: 200, call: "none" }]);
  return (await metrics["expose"]?.()) as string;
}
