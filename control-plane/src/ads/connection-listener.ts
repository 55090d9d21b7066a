// The listener for pods: in plaintext, or with mutual TLS and HTTP/2 by ALPN. Clients that cannot
// connect are counted, and the log names the reason.
import type { Socket } from "node:net";

import type { Log } from "@weir/common/log/log";
import { ConnectionListener } from "@weir/common/net/connection-listener";
import type { ConnectionFailure } from "@weir/common/net/handshake-failure";

import type { AdsSecurity } from "./ads-security.ts";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";

export interface AdsListenerDeps {
  readonly log: Log;
  readonly warnings: RateLimitedLog;
  /** Receives every failed connection. */
  readonly failed: (failure: ConnectionFailure) => void;
}

/** How connections are protected. */
export interface AdsListenerOptions {
  readonly security: AdsSecurity;
  readonly handshakeTimeoutMs?: number | undefined;
}

/** Makes a listener that passes each connection that is ready to `ready`, which reports one without HTTP/2. */
export function createAdsListener(
  { log, warnings, failed }: AdsListenerDeps,
  { security, handshakeTimeoutMs }: AdsListenerOptions,
  ready: (socket: Socket, notHttp2: () => void) => void,
): ConnectionListener {
  return new ConnectionListener(
    {
      log,
      failed: (failure, peer) => {
        failed(failure);
        const message = "A client could not connect to ADS";
        warnings.warn(message, { peer, reason: failure.reason }, `${message}: ${failure.kind}`);
      },
    },
    {
      what: "ADS",
      tls:
        security.kind === "plaintext"
          ? undefined
          : { files: security.files, requireCertificate: true, requireAlpn: true, handshakeTimeoutMs },
      words: {
        server: "this control plane",
        clientAuthority: "ADS_TLS_CLIENT_CACERT",
        plaintext: "with ADS_PLAINTEXT=true",
      },
    },
    ready,
  );
}
