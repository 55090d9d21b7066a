// The command `weir shadow`: switches RateLimitConfigs of a cluster into shadow mode, and out of it.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf } from "@weir/kubernetes/mapping";

import { type Cluster, openCluster } from "../cluster/open-cluster.ts";
import { RATE_LIMIT_CONFIG } from "../cluster/weir-kinds.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { counted, printable } from "../command-line/printable.ts";
import { parseShadowArguments, PROTECTED_LABEL, type ShadowArguments } from "./arguments.ts";
import { switchConfig } from "./switch-config.ts";

/** Resources that are switched at a time: thousands are done within seconds. */
const CONCURRENCY = 8;

/** The parts of its program that the command uses. */
export type ShadowContext = Pick<ProgramContext, "stdout" | "stderr" | "signal" | "env">;

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runShadow(context: ShadowContext, args: readonly string[]): Promise<number> {
  const parsed = parseShadowArguments(args);
  if (typeof parsed === "string") {
    context.stderr(`weir shadow: ${parsed}; see weir shadow --help\n`);
    return EXIT_USAGE;
  }
  let cluster: Cluster | undefined;
  try {
    cluster = await openCluster(parsed.cluster, context.env);
    return await switchAll(context, parsed, cluster);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir shadow: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  } finally {
    await cluster?.close();
  }
}

async function switchAll(context: ShadowContext, options: ShadowArguments, cluster: Cluster): Promise<number> {
  const { signal } = context;
  const namespace = options.namespace ?? cluster.namespace;
  const { found, missing } = await findConfigs(cluster, options, namespace, signal);
  for (const name of missing)
    context.stderr(
      `weir shadow: there is no RateLimitConfig ${printable(name)} in the namespace ${printable(namespace)}\n`,
    );
  const results = new Map<"switched" | "skipped" | "failed", number>();
  for (let first = 0; first < found.length; first += CONCURRENCY) {
    const batch = found.slice(first, first + CONCURRENCY);
    const done = await Promise.all(batch.map((object) => switchOne(cluster, object, options, signal)));
    done.forEach(({ result, text }, index) => {
      results.set(result, (results.get(result) ?? 0) + 1);
      const name = `${batch[index]?.namespace}/${batch[index]?.name}`;
      const write = result === "failed" ? context.stderr : context.stdout;
      write(printable(`[${first + index + 1}/${found.length}] ${name}: ${text}`) + "\n");
    });
  }
  if (options.names === undefined) {
    const sum = [...results].map(([result, count]) => `${count} ${result === "switched" ? "as wanted" : result}`);
    const where = options.allNamespaces ? "in all namespaces" : `in the namespace ${printable(namespace)}`;
    context.stdout(`${[counted(found.length, "RateLimitConfig") + ` ${where}`, ...sum].join(", ")}\n`);
  }
  return results.has("failed") || missing.length > 0 ? EXIT_PROBLEMS : EXIT_OK;
}

/** The resources that are meant, and names of which there is none. */
async function findConfigs(
  cluster: Cluster,
  { names, allNamespaces }: ShadowArguments,
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly found: readonly KubernetesObject[]; readonly missing: readonly string[] }> {
  const { api } = RATE_LIMIT_CONFIG;
  if (names === undefined)
    return { found: await cluster.list(resourceOf(api, allNamespaces ? undefined : namespace), signal), missing: [] };
  const objects = await Promise.all(names.map((name) => cluster.objects.get(api, { namespace, name }, signal)));
  return {
    found: objects.flatMap((object) => object ?? []),
    missing: names.filter((_name, index) => objects[index] === undefined),
  };
}

async function switchOne(
  { objects }: Cluster,
  object: KubernetesObject,
  { isOn, names, includesProtected }: ShadowArguments,
  signal: AbortSignal,
): Promise<{ readonly result: "switched" | "skipped" | "failed"; readonly text: string }> {
  const labels = fieldsOf(fieldsOf(object.content["metadata"])["labels"]);
  if (names === undefined && !includesProtected && (labels[PROTECTED_LABEL] ?? "false") !== "false")
    return { result: "skipped", text: `skipped: it has the label ${PROTECTED_LABEL}; --protected includes it` };
  try {
    return { result: "switched", text: await switchConfig(objects, object, isOn, signal) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { result: "failed", text: describeError(error) };
  }
}
