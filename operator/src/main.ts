// The program weir-operator: reads the settings, runs the operator and stops it in order.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { describeSettings, parseSettings } from "./settings.ts";

runProgram(
  {
    name: "weir-operator",
    summary:
      "Writes the statuses of RateLimitConfigs and runs the data planes of RateLimitServices, in a Kubernetes cluster.",
    settings: describeSettings,
  },
  main,
);

async function main(context: ProgramContext): Promise<void> {
  const settings = parseSettings(context.env);
  const log = createLog(settings.log);
  context.useLog(log);
  const { signal } = context;
  const tracing = await startTracing(settings.tracing, { log });
  // Large packages take time to load: not for --help, and not before the settings are valid.
  const { openClusterAccess } = await import("@weir/kubernetes/access/cluster-access");
  const { Operator } = await import("./operator.ts");
  const { createParts } = await import("./parts.ts");
  const access = await openClusterAccess(settings.connection, Date.now);
  const operator = new Operator(
    { log, clock: Date.now, monotonicMs: () => performance.now(), random: Math.random, access, createParts },
    settings,
  );
  operator.lifecycle.add({ name: "address log", start: () => log.info("Operator is up", operator.describe()) });
  if (signal.aborted) return;
  signal.addEventListener("abort", () => log.info("Stopping", { signal: context.signalName() }), { once: true });
  try {
    await runUntilAborted(operator.lifecycle, signal);
  } finally {
    await tracing.stop();
  }
}
