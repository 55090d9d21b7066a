// Runs the operator with some parts until a signal stops it.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";

import { Operator, type OperatorDeps } from "./operator.ts";
import type { Settings } from "./settings.ts";

/** Runs it to its end; fails with SOURCE_UNREADABLE when a kubeconfig cannot be used. */
export async function runOperator(
  context: ProgramContext,
  settings: Settings,
  createParts: OperatorDeps["createParts"],
): Promise<void> {
  const log = createLog(settings.log);
  context.useLog(log);
  const { signal } = context;
  const tracing = await startTracing(settings.tracing, { log });
  const access = await openClusterAccess(settings.connection, Date.now);
  const operator = new Operator(
    { log, clock: Date.now, monotonicMs: () => performance.now(), random: Math.random, access, createParts },
    settings,
  );
  operator.lifecycle.add({ name: "address log", start: () => log.info("Operator is up", operator.describe()) });
  signal.addEventListener("abort", () => log.info("Stopping", { signal: context.signalName() }), { once: true });
  try {
    await runUntilAborted(operator.lifecycle, AbortSignal.any([signal, operator.failed]));
  } finally {
    await tracing.stop();
  }
}
