// Opens the port for pods and hands over connections that are ready for HTTP/2: in plaintext, or
// after a TLS handshake in which the client showed a certificate. It tells why others came to
// nothing; what is spoken on a connection is grpc-js's.
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from "node:tls";

import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { limitConnections } from "@weir/common/net/connection-limit";
import { KEEP_ALIVE_PROBES } from "@weir/common/net/keep-alive";
import { formatAddress, listen, type ListenAddress } from "@weir/common/net/listen";
import type { TlsFiles } from "@weir/common/tls/tls-files";

import type { AdsSecurity } from "./ads-security.ts";
import { type ConnectionFailure, explainHandshake, NO_HTTP2, NOT_PLAINTEXT } from "./handshake-failure.ts";
import type { LimitedLog } from "./limited-log.ts";

/** Longest TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** What the listener tells of clients that did not get in. */
export interface ConnectionListenerDeps {
  readonly log: Log;
  readonly warnings: LimitedLog;
  readonly failed: (failure: ConnectionFailure) => void;
}

/** Where to listen, and how connections are protected. */
export interface ConnectionListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly security: AdsSecurity;
  readonly handshakeTimeoutMs?: number | undefined;
}

/** The port for pods. */
export interface ConnectionListener {
  /** Opens it; fails with LISTEN_FAILED. */
  open(): Promise<ListenAddress>;
  /** Takes no more connections; resolves when those that are open have ended. */
  close(): Promise<void>;
  /** Cuts the connections that are still open. */
  cut(): void;
}

/** Makes a listener that gives each connection that is ready to `ready`. */
export function createConnectionListener(
  deps: ConnectionListenerDeps,
  options: ConnectionListenerOptions,
  ready: (socket: Socket) => void,
): ConnectionListener {
  return new SocketListener(deps, options, ready);
}

class SocketListener implements ConnectionListener {
  readonly #deps: ConnectionListenerDeps;
  readonly #options: ConnectionListenerOptions;
  readonly #ready: (socket: Socket) => void;
  readonly #server: Server;
  /** All that are open, also those in a handshake, with the client's address. */
  readonly #open = new Map<Socket, string>();
  #unsubscribe: (() => void) | undefined;

  constructor(deps: ConnectionListenerDeps, options: ConnectionListenerOptions, ready: (socket: Socket) => void) {
    this.#deps = deps;
    this.#options = options;
    this.#ready = ready;
    const { security } = options;
    this.#server =
      security.kind === "plaintext"
        ? createServer({ noDelay: true, ...KEEP_ALIVE_PROBES }, (socket) => this.#takePlain(socket))
        : this.#createTlsServer(security.files);
    limitConnections(this.#server, { what: "ADS" }, deps.log);
    this.#server.on("connection", (socket: Socket) => {
      this.#open.set(socket, addressOf(socket));
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  async open(): Promise<ListenAddress> {
    const { host, port, security } = this.#options;
    if (security.kind === "mutual-tls") {
      // Streams that are open keep the certificate with which they were opened.
      this.#unsubscribe = security.files.onChange(() =>
        (this.#server as TlsServer).setSecureContext(secureContextOf(security.files)),
      );
    }
    return listen(this.#server, { host, port, setting: "ADS_PORT", what: "ADS" });
  }

  async close(): Promise<void> {
    this.#unsubscribe?.();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve()); // Its only error says that it was not open.
    await promise;
  }

  cut(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #createTlsServer(files: TlsFiles): TlsServer {
    const server = createTlsServer({
      ...secureContextOf(files),
      ALPNProtocols: ["h2"],
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: this.#options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
      ...KEEP_ALIVE_PROBES,
    });
    server.on("secureConnection", (socket) => this.#takeSecure(socket));
    server.on("tlsClientError", (error, socket) => this.#failHandshake(error, socket));
    return server;
  }

  #takePlain(socket: Socket): void {
    const peer = addressOf(socket);
    socket.on("error", (error) => {
      if (isForeignProtocol(error)) this.#fail(peer, NOT_PLAINTEXT);
      else this.#deps.log.debug("An ADS connection broke", { peer, error });
    });
    this.#ready(socket);
  }

  #takeSecure(socket: TLSSocket): void {
    const peer = addressOf(socket);
    socket.on("error", (error) => this.#deps.log.debug("An ADS connection broke", { peer, error }));
    // A client that offers a list without HTTP/2 has failed the handshake; this one offered none.
    if (socket.alpnProtocol === "h2") {
      this.#ready(socket);
      return;
    }
    this.#fail(peer, NO_HTTP2);
    socket.destroy();
  }

  #failHandshake(error: Error, socket: TLSSocket): void {
    const connection = connectionUnder(socket);
    const peer = this.#open.get(connection) ?? addressOf(connection);
    const failure = explainHandshake({
      code: textOf(error, "code") || describeError(error),
      opensslReason: textOf(error, "reason"),
      // Typed as an Error, it is the name of one; null when there is none.
      certificateError: (socket.authorizationError as unknown as string | null | undefined) ?? undefined,
      bytesRead: connection.bytesRead,
    });
    if (failure === undefined) this.#deps.log.debug("A client opened a connection and closed it", { peer });
    else this.#fail(peer, failure);
    socket.destroy(); // Of a handshake that takes too long, Node only tells.
  }

  #fail(peer: string, failure: ConnectionFailure): void {
    this.#deps.failed(failure);
    this.#deps.warnings.warn("A client could not connect to ADS", { peer, reason: failure.reason });
  }
}

/**
 * Only the given authorities are trusted for clients, not the public ones: those certify anybody.
 */
function secureContextOf(files: TlsFiles) {
  return { ...files.current(), minVersion: "TLSv1.2" } as const;
}

/**
 * The connection that carries TLS: it tells how much came over it also when it is closed. Node 26
 * keeps it in a field that it does not document; without it the TLS socket itself tells what it
 * can.
 */
function connectionUnder(socket: TLSSocket): Socket {
  return (socket as TLSSocket & { readonly _parent?: Socket | null })._parent ?? socket;
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return remoteAddress === undefined || remotePort === undefined
    ? "unknown"
    : formatAddress({ host: remoteAddress, port: remotePort });
}

/** nghttp2's name for first bytes that are none of HTTP/2's. */
function isForeignProtocol(error: Error): boolean {
  return textOf(error, "code") === "ERR_HTTP2_ERROR" && error.message.includes("bad client magic");
}

function textOf(error: Error, field: "code" | "reason"): string {
  const value = (error as unknown as Readonly<Record<string, unknown>>)[field];
  return typeof value === "string" ? value : "";
}
