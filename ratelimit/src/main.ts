// The program `weir-ratelimit`: reads the settings and runs the service until a signal stops it.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { describeSettings, parseSettings } from "./settings.ts";
import { findSettingWarnings } from "./settings/setting-warnings.ts";

runProgram(
  {
    name: "weir-ratelimit",
    summary: "Decides, over gRPC and HTTP, whether requests are within the configured rate limits.",
    settings: describeSettings,
  },
  main,
);

async function main(context: ProgramContext): Promise<void> {
  const { signal } = context; // From here on a signal stops the parts in order.
  const settings = parseSettings(context.env);
  const log = createLog(settings.log);
  context.useLog(log);
  for (const { name, reason } of findSettingWarnings(context.env, describeSettings(), settings.backend.kind))
    log.warn("Variable has no effect", { name, reason });
  const tracing = await startTracing(settings.tracing, { log });
  // Loaded here because gRPC takes time, which --help and invalid settings must not cost.
  const { createService } = await import("./service.ts");
  const { workerCount } = await import("./workers/worker-count.ts");
  const service = await createService(
    { workers: workerCount(settings), tracing, isDrainWanted: () => context.signalName() === "SIGTERM", log },
    settings,
  );
  context.onHangup(() => service.reload());
  await runUntilAborted(service.lifecycle, signal);
}
