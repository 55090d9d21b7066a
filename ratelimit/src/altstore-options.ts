// From the settings of the altstore backend to its options: files that were named become
// certificates that reload.
import type { TlsFiles } from "@weir/common/tls/tls-files";

import type { AltstoreCounterOptions } from "./counters/altstore/options.ts";
import type { FailureMode } from "./decide/decider.ts";
import type { AltstoreBackendSettings } from "./settings/altstore-settings.ts";

/**
 * The options of the backend. With the failure mode "allow" what cannot be read counts from zero,
 * as in the field.
 */
export function altstoreOptions(
  settings: AltstoreBackendSettings,
  failureMode: FailureMode,
  tlsFiles: TlsFiles,
): AltstoreCounterOptions {
  const { nodes, maxConnections, timeoutMs, expiryJitterMaxSeconds, startMaxElapsedMs, useTls, tls } = settings;
  return {
    nodes,
    maxConnections,
    timeoutMs,
    expiryJitterMaxSeconds,
    startMaxElapsedMs,
    unread: failureMode === "allow" ? "zero" : "failure",
    tls: useTls
      ? { material: () => tlsFiles.current(), skipHostnameVerification: tls.skipHostnameVerification }
      : undefined,
  };
}
