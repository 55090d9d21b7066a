// The command `weir status`: reads the resources of a cluster, and prints their statuses.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";

import { type Cluster, openCluster } from "../cluster/open-cluster.ts";
import { RATE_LIMIT_CONFIG, RATE_LIMIT_SERVICE, type WeirKind } from "../cluster/weir-kinds.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import { parseStatusArguments, type StatusArguments } from "./arguments.ts";
import { byUrgency, readResourceStatus, type ResourceStatus } from "./resource-status.ts";
import { statusTable, statusText } from "./status-text.ts";

/** The parts of its program that the command uses. */
export type StatusContext = Pick<ProgramContext, "stdout" | "stderr" | "signal" | "env">;

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runStatus(context: StatusContext, args: readonly string[]): Promise<number> {
  const parsed = parseStatusArguments(args);
  if (typeof parsed === "string") {
    context.stderr(`weir status: ${parsed}; see weir status --help\n`);
    return EXIT_USAGE;
  }
  let cluster: Cluster | undefined;
  try {
    cluster = await openCluster(parsed.cluster, context.env);
    return await show(context, parsed, cluster);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir status: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  } finally {
    await cluster?.close();
  }
}

async function show(context: StatusContext, options: StatusArguments, cluster: Cluster): Promise<number> {
  const namespace = options.namespace ?? cluster.namespace;
  const resources =
    options.resource === undefined
      ? await readAll(cluster, options.allNamespaces ? undefined : namespace, context.signal)
      : await readOne(cluster, options.resource, namespace, context.signal);
  if (resources.length === 0 && options.resource !== undefined) {
    const { kind, name } = options.resource;
    context.stderr(
      `weir status: there is no ${kind.kind} ${printable(name)} in the namespace ${printable(namespace)}\n`,
    );
    return EXIT_PROBLEMS;
  }
  if (options.format !== "text") context.stdout(await formatObject(resources, options.format));
  else if (options.resource !== undefined) context.stdout(resources.map(statusText).join("\n"));
  else if (resources.length > 0) context.stdout(statusTable(resources, options.allNamespaces));
  else {
    const where = options.allNamespaces ? "in any namespace" : `in the namespace ${printable(namespace)}`;
    context.stderr(`weir status: there are no resources ${where}\n`);
  }
  return resources.every(({ ready }) => ready === "True") ? EXIT_OK : EXIT_PROBLEMS;
}

async function readOne(
  cluster: Cluster,
  { kind, name }: NonNullable<StatusArguments["resource"]>,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ResourceStatus[]> {
  const object = await cluster.objects.get(kind.api, { namespace, name }, signal);
  return object === undefined ? [] : [readResourceStatus(kind, object)];
}

async function readAll(
  cluster: Cluster,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly ResourceStatus[]> {
  const [configs, services] = await Promise.all([
    readKind(cluster, RATE_LIMIT_CONFIG, namespace, signal),
    // A cluster that runs its data planes otherwise does not have this kind.
    readKind(cluster, RATE_LIMIT_SERVICE, namespace, signal).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.isKindMissing) return [];
      throw error;
    }),
  ]);
  return [...configs, ...services].toSorted(byUrgency);
}

async function readKind(
  cluster: Cluster,
  kind: WeirKind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly ResourceStatus[]> {
  const objects = await cluster.list(resourceOf(kind.api, namespace), signal);
  return objects.map((object) => readResourceStatus(kind, object));
}

/** One object with everything. Fields are stable. */
async function formatObject(resources: readonly ResourceStatus[], format: "json" | "yaml"): Promise<string> {
  const object = {
    ok: resources.every(({ ready }) => ready === "True"),
    resources: resources.map(({ kind, namespace, name, generation, ready, reason, message, status }) => ({
      kind: kind.kind,
      namespace,
      name,
      generation,
      ready,
      reason,
      message,
      status,
    })),
  };
  if (format === "json") return `${JSON.stringify(object, undefined, 2)}\n`;
  return (await import("yaml")).stringify(object);
}
