// Runs the service in its process: log, start, messages for the operator, stop.
import { runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";
import { findSettingWarnings } from "./settings/setting-warnings.ts";
import { describeSettings, type Settings } from "./settings/settings.ts";
import { createService } from "./service.ts";

/** Runs the service until the context's signal; resolves after a clean stop. */
export async function runService(settings: Settings, context: ProgramContext): Promise<void> {
  const log = createLog(settings.log);
  context.useLog(log);
  const chosen = { store: settings.store.kind, media: settings.media.kind, mail: settings.mail.kind };
  for (const { name, reason } of findSettingWarnings(context.env, describeSettings(), chosen))
    log.warn("Variable has no effect", { name, reason });
  const service = createService(settings, {
    log,
    tracing: await startTracing(settings.tracing, { log }),
    clock: Date.now,
    monotonicMs: () => performance.now(),
    stopsAtOnce: () => context.signalName() === "SIGINT",
  });
  for (const warning of settings.warnings) log.warn("Not fit for production", { reason: warning });
  service.lifecycle.add({
    name: "announcement",
    start: () => {
      log.info("Account service ready", {
        url: service.url(),
        metrics: `${service.metricsUrl()}/metrics`,
        data: settings.dataDirectory,
      });
    },
  });
  await runUntilAborted(service.lifecycle, context.signal);
  log.info("Account service stopped");
}
