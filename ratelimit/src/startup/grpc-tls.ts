// Opens the TLS files of the gRPC listener.
import type { ListenerTls } from "@weir/common/net/connection-listener";

import type { GrpcTlsSettings } from "../settings/server-settings.ts";
import type { LoadStatistics } from "../statistics/service-statistics.ts";
import type { ReloadedFiles } from "./reloaded-files.ts";

/** TLS of the gRPC listener; `statistics` count the loads. Fails with TLS_FILE_INVALID. */
export function openGrpcTls(
  { paths, clientName }: GrpcTlsSettings,
  files: ReloadedFiles,
  statistics?: LoadStatistics,
): ListenerTls {
  return { files: files.openTls(paths, statistics), clientName };
}
