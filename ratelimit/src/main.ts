// The program `weir-ratelimit`: reads the settings and runs the service until a signal stops it, or the command that
// its first argument names.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { parseCommand, USAGE } from "./command.ts";
import { describeSettings, parseSettings } from "./settings.ts";
import { findSettingWarnings } from "./settings/setting-warnings.ts";

/** Exit code of a wrong command line. */
const EXIT_USAGE = 2;

runProgram(
  {
    name: "weir-ratelimit",
    summary: "Decides, over gRPC and HTTP, whether requests are within the configured rate limits.",
    usage: USAGE,
    settings: describeSettings,
  },
  main,
);

async function main(context: ProgramContext): Promise<number | void> {
  const command = parseCommand(context.args);
  if (command.kind === "invalid") {
    context.stderr(`weir-ratelimit: ${command.message}\n`);
    return EXIT_USAGE;
  }
  const { signal } = context; // From here on a signal stops the parts in order.
  const settings = parseSettings(context.env);
  if (command.kind === "check-ads") {
    const { runAdsCheck } = await import("./startup/run-ads-check.ts");
    return await runAdsCheck(settings, command.timeoutMs, context);
  }
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
