// The program weir-control-plane: reads the settings, runs the control plane and stops it in order.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { describeSettings, parseSettings } from "./settings.ts";

runProgram(
  {
    name: "weir-control-plane",
    summary:
      "Serves RateLimitConfig resources to rate limit pods over ADS, and reports which pod has ACKed which version.",
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
  // gRPC and YAML take time to load: not for --help, and not before the settings are valid.
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
    name: "address log",
    start: () => {
      isUp = true;
      log.info("Control plane is up", controlPlane.describe());
    },
  });
  const stop = new AbortController();
  const drain = (): void => {
    // SIGINT from a terminal stops immediately; SIGTERM from a platform lets pods move first.
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
