// Finds out whether a server that closes plaintext connections speaks TLS: nothing in what it sends
// to a plaintext client says so.
import { isIP } from "node:net";
import { connect } from "node:tls";

import { errorCode } from "@weir/common/errors/error-code";
import { parseHostPort } from "@weir/common/net/host-port";

/** Longest handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 2_000;

/** Resolves to true if the server at `host:port` answers a TLS handshake; the connection is closed then. */
export async function speaksTls(serverUrl: string): Promise<boolean> {
  const { host, port } = parseHostPort(serverUrl) ?? {};
  if (host === undefined || port === undefined) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({
    host,
    port,
    // Only the protocol matters: nothing is sent after the handshake.
    rejectUnauthorized: false,
    ALPNProtocols: ["h2"],
    servername: isIP(host) === 0 ? host : "",
  });
  const timer = setTimeout(() => resolve(false), HANDSHAKE_TIMEOUT_MS);
  socket.once("secureConnect", () => resolve(true));
  // A server that requires a client certificate before TLS 1.3 ends the handshake with an alert.
  socket.once("error", (error) => resolve(errorCode(error)?.includes("_ALERT_") ?? false));
  socket.once("close", () => resolve(false));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
