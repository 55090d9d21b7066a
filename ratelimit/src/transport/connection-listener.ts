// Opens the listener of a gRPC engine: TCP or unix socket, plain or TLS, with certificates that
// reload and a client name that is checked. It hands over connections that are ready; what is
// spoken on them is the engine's.
import { lstatSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import {
  checkServerIdentity,
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from "node:tls";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { limitConnections } from "@weir/common/net/connection-limit";
import { KEEP_ALIVE_PROBES } from "@weir/common/net/keep-alive";
import { formatAddress, listen } from "@weir/common/net/listen";
import type { TlsFiles } from "@weir/common/tls/tls-files";

/** Longest TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Longest path of a unix socket, in bytes: what Linux can hold, without the zero at its end. */
const PATH_MAX_BYTES = 107;

/** Where to listen. */
export type ListenerAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** TLS of a listener. */
export interface ListenerTls {
  /** Certificate and key; with a CA, clients must show a certificate of it. */
  readonly files: TlsFiles;
  /**
   * GRPC_CLIENT_TLS_SAN: the DNS name that the client's certificate must be valid for; undefined =
   * any.
   */
  readonly clientName: string | undefined;
  /** For tests: instead of HANDSHAKE_TIMEOUT_MS. */
  readonly handshakeTimeoutMs?: number;
}

/** What to listen on, and which settings move it. */
export interface ListenerOptions {
  readonly address: ListenerAddress;
  readonly tls: ListenerTls | undefined;
  /** What listens and the settings that move it, for messages. */
  readonly what: string;
  readonly portSetting: string;
  readonly pathSetting: string;
}

/** The listener. */
export interface ConnectionListener {
  /** Opens it and answers where; fails with LISTEN_FAILED. */
  open(): Promise<string>;
  /** Takes no more connections; those that were handed over stay. */
  close(): void;
}

/** Makes a listener that gives every connection which is ready to `onConnection`. */
export function createConnectionListener(
  deps: { readonly log: Log },
  options: ListenerOptions,
  onConnection: (socket: Socket) => void,
): ConnectionListener {
  const { tls } = options;
  const server =
    tls === undefined
      ? createServer({ noDelay: true, ...KEEP_ALIVE_PROBES }, onConnection)
      : createSecureServer(deps.log, tls, onConnection);
  limitConnections(server, { what: options.what }, deps.log);
  let unsubscribe: (() => void) | undefined;
  return {
    async open() {
      if (tls !== undefined)
        unsubscribe = tls.files.onChange(() => (server as TlsServer).setSecureContext(secureContextOf(tls)));
      return options.address.kind === "tcp"
        ? await openTcp(server, options, options.address)
        : await openUnix(server, options, options.address.path);
    },
    close() {
      unsubscribe?.();
      server.close();
    },
  };
}

function createSecureServer(log: Log, tls: ListenerTls, onConnection: (socket: Socket) => void): TlsServer {
  const options = {
    ...secureContextOf(tls),
    ALPNProtocols: ["h2"],
    handshakeTimeout: tls.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
    requestCert: tls.files.current().ca !== undefined,
    rejectUnauthorized: true,
    noDelay: true,
    ...KEEP_ALIVE_PROBES,
  };
  const server = createTlsServer(options, (socket) => {
    const refusal = findClientRefusal(socket, tls);
    if (refusal === undefined) {
      onConnection(socket);
      return;
    }
    log.debug("a client's certificate is not valid for the name that is asked for, its connection is closed", {
      reason: refusal,
    });
    socket.destroy();
  });
  server.on("tlsClientError", (error, socket) => {
    log.debug("a TLS handshake failed", { error });
    socket.destroy(); // Of a handshake that takes too long, Node only tells.
  });
  return server;
}

/** Only the given authority is trusted for clients, not the public ones: those certify anybody. */
function secureContextOf(tls: ListenerTls): { cert?: Buffer; key?: Buffer; ca?: Buffer; minVersion: "TLSv1.2" } {
  return { ...tls.files.current(), minVersion: "TLSv1.2" };
}

function findClientRefusal(socket: TLSSocket, tls: ListenerTls): string | undefined {
  if (tls.clientName === undefined) return undefined;
  const certificate = socket.getPeerCertificate();
  // Node would take the common name where there is no name of the right kind; that was given up
  // long ago, and in the reference, too.
  if (certificate.subjectaltname === undefined) return "it has no subject alternative names";
  return checkServerIdentity(tls.clientName, { ...certificate, subject: { ...certificate.subject, CN: "" } })?.message;
}

async function openTcp(
  server: Server,
  options: ListenerOptions,
  address: { host: string; port: number },
): Promise<string> {
  const { host, port } = address;
  return formatAddress(await listen(server, { host, port, setting: options.portSetting, what: options.what }));
}

async function openUnix(server: Server, options: ListenerOptions, path: string): Promise<string> {
  try {
    await listenUnix(server, path);
  } catch (error) {
    // A socket file without a listener is left over from a process that was killed. Any other file
    // is not ours to remove.
    if (!isInUse(error) || !lstatSync(path).isSocket() || (await isAnswered(path)))
      throw unixError(options, path, error);
    unlinkSync(path);
    await listenUnix(server, path).catch((cause: unknown) => {
      throw unixError(options, path, cause);
    });
  }
  return `unix:${path}`;
}

function listenUnix(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function isInUse(error: unknown): boolean {
  return errorCode(error) === "EADDRINUSE";
}

/**
 * Whether somebody listens on the socket file; anything but a refusal counts as yes, so that no
 * foreign file is removed.
 */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(true);
    });
    probe.on("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "ECONNREFUSED"));
  });
}

function unixError({ what, pathSetting }: ListenerOptions, path: string, cause: unknown): ServiceError {
  const action = `Cannot listen for ${what} on ${path}`;
  if (isInUse(cause)) {
    return new ServiceError(
      "LISTEN_FAILED",
      `${action}: something listens there, or it is no socket; set ${pathSetting} to another path`,
    );
  }
  // The system says the same of a folder that is not there as of one that may not be written.
  const rule = `${pathSetting} must be a path of at most ${PATH_MAX_BYTES} bytes in a folder that exists and may be written`;
  return new ServiceError("LISTEN_FAILED", `${action}: ${describeError(cause)}; ${rule}`, { cause });
}
