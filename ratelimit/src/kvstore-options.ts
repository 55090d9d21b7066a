// From the settings of the kvstore backend to its options: files that were named become
// certificates that reload.
import type { TlsFiles } from "@weir/common/tls/tls-files";

import type { KvstoreCounterOptions, KvstoreServerOptions } from "./counters/kvstore/options.ts";
import type { KvstoreBackendSettings, KvstoreServerSettings } from "./settings/kvstore-settings.ts";

/** The options of the backend; `tlsFiles` are those that the settings name. */
export function kvstoreOptions(settings: KvstoreBackendSettings, tlsFiles: TlsFiles): KvstoreCounterOptions {
  const server = ({ useTls, ...options }: KvstoreServerSettings): KvstoreServerOptions => ({
    ...options,
    tls: useTls
      ? { material: () => tlsFiles.current(), skipHostnameVerification: settings.tls.skipHostnameVerification }
      : undefined,
  });
  return {
    main: server(settings.main),
    perSecond: settings.perSecond && server(settings.perSecond),
    commandTimeoutMs: settings.commandTimeoutMs,
    expiryJitterMaxSeconds: settings.expiryJitterMaxSeconds,
    startup: settings.startup,
  };
}
