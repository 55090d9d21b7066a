// An operator whose leader writes one ConfigMap all the time, as a process for tests of the election. After
// SIGUSR2 its work does not end.
import { runProgram } from "@weir/common/lifecycle/program";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import { fieldsOf } from "@weir/kubernetes/mapping";

import type { OperatorParts, PartDeps } from "./parts.ts";
import { Controller } from "./reconcile/controller.ts";
import { ControllerMetricsSet } from "./reconcile/controller-metrics.ts";
import type { Reconciler } from "./reconcile/reconciler.ts";
import { runOperator } from "./run-operator.ts";
import { parseSettings } from "./settings.ts";

const CONFIG_MAPS: ApiKind = { group: "", version: "v1", plural: "configmaps" };

/** Time between two writes, in milliseconds. */
const PERIOD_MS = 20;

runProgram({ name: "writing-operator", summary: "Writes a ConfigMap as the leader." }, async (context) => {
  await runOperator(context, parseSettings(context.env), createParts);
});

function createParts({ log, random, registry, objects, caches, settings }: PartDeps): OperatorParts {
  const reconciler: Reconciler = {
    name: "configmap",
    // With the version that was read, as statuses are written.
    reconcile: async ({ namespace, name }, signal) => {
      const before = await objects.get(CONFIG_MAPS, { namespace, name }, signal);
      if (before === undefined) return {};
      const count = Number(fieldsOf(before.content["data"])["count"] ?? 0) + 1;
      const metadata = { ...fieldsOf(before.content["metadata"]), namespace, name };
      const next = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { count: String(count) } };
      await objects.update(CONFIG_MAPS, next, {}, signal);
      return { againAfterMs: PERIOD_MS };
    },
  };
  const controller = new Controller(
    { log, random, monotonicMs: () => performance.now(), reconciler, metrics: new ControllerMetricsSet(registry) },
    caches.follow(CONFIG_MAPS, { namespaces: [settings.namespace], labelSelector: "test=election" }),
    settings.reconcile,
  );
  let isStuck = false;
  process.on("SIGUSR2", () => (isStuck = true));
  const stop = async (): Promise<void> => {
    if (isStuck) await new Promise(() => undefined);
  };
  return { everywhere: [], leading: [controller, { name: "part that may be stuck", stop }] };
}
