// The program weir-control-plane: reads settings, runs the parts that control-plane.ts puts
// together, stops them in order.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { describeSettings, parseSettings } from "./settings.ts";

runProgram(
  {
    name: "weir-control-plane",
    summary:
      "Serves RateLimitConfig resources to rate limit pods over ADS, and tells which pod has accepted which version.",
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
  // gRPC and YAML take time to load: not for --help, and not before the settings are known to be
  // good.
  const { ControlPlane } = await import("./control-plane.ts");
  const controlPlane = new ControlPlane(
    {
      log,
      clock: Date.now,
      tracer: tracing.tracer,
      markFailed: tracing.tracer === undefined ? undefined : tracing.markFailed,
    },
    settings,
  );
  context.onHangup(() => controlPlane.reload());

  let isUp = false;
  controlPlane.lifecycle.add({
    name: "announcement",
    start: () => {
      isUp = true;
      log.info("Control plane is up", controlPlane.describe());
    },
  });
  const stop = new AbortController();
  const drain = (): void => {
    // A person at the terminal wants it to end; a platform wants pods to move first.
    const drainMs = isUp && context.signalName() === "SIGTERM" ? settings.shutdownDrainMs : 0;
    controlPlane.drain(drainMs);
    log.info("Stopping", { signal: context.signalName(), drainMs });
    setTimeout(() => stop.abort(), drainMs);
  };
  if (signal.aborted) return;
  signal.addEventListener("abort", drain, { once: true });
  try {
    await runUntilAborted(controlPlane.lifecycle, stop.signal);
  } finally {
    await tracing.stop();
  }
}
