// A listener for HTTP/2 connections: TCP or unix socket, plaintext or TLS with certificates that
// reload. It passes on connections that are ready, and explains why others failed.
import { createServer, type Server, type Socket } from "node:net";
import {
  checkServerIdentity,
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from "node:tls";

import { errorCode } from "../errors/error-code.ts";
import { describeError } from "../errors/service-error.ts";
import type { Log } from "../log/log.ts";
import type { TlsFiles } from "../tls/tls-files.ts";
import { limitConnections } from "./connection-limit.ts";
import {
  type ConnectionFailure,
  explainHandshake,
  explainNotPlaintext,
  type ListenerWords,
  NO_HTTP2,
} from "./handshake-failure.ts";
import {
  KEEP_ALIVE_PROBES,
  listen,
  type ListenAddress,
  type ListenOptions,
  listenUnix,
  type ListenUnixOptions,
  peerAddress,
} from "./listen.ts";

/** Longest TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface ListenerTls {
  /** Certificate and key; with a CA, clients must show a certificate of it. */
  readonly files: TlsFiles;
  /** True asks for a client certificate also without a CA, which then accepts no client. */
  readonly requireCertificate?: boolean;
  /** The DNS name that the client's certificate must be valid for; undefined = any. */
  readonly clientName?: string | undefined;
  /** True closes connections of clients that offer no protocol at all (ALPN). */
  readonly requireAlpn?: boolean;
  /** Default 10 seconds. */
  readonly handshakeTimeoutMs?: number | undefined;
}

/** How connections are protected, and the words of failures. */
export interface ConnectionListenerOptions {
  /** The protocol or purpose, such as "gRPC", for messages. */
  readonly what: string;
  /** Undefined = plaintext. */
  readonly tls: ListenerTls | undefined;
  readonly words: ListenerWords;
}

export interface ConnectionListenerDeps {
  readonly log: Log;
  /** Receives every failed connection, with the client's address. */
  readonly failed: (failure: ConnectionFailure, peer: string) => void;
}

/** The listener. */
export class ConnectionListener {
  readonly #deps: ConnectionListenerDeps;
  readonly #options: ConnectionListenerOptions;
  readonly #ready: (socket: Socket, notHttp2: () => void) => void;
  readonly #server: Server;
  /** All open connections, also those in a handshake, with the client's address. */
  readonly #open = new Map<Socket, string>();
  #unsubscribe: (() => void) | undefined;

  /** Each connection that is ready goes to `ready`, which reports one that does not begin with HTTP/2. */
  constructor(
    deps: ConnectionListenerDeps,
    options: ConnectionListenerOptions,
    ready: (socket: Socket, notHttp2: () => void) => void,
  ) {
    this.#deps = deps;
    this.#options = options;
    this.#ready = ready;
    this.#server =
      options.tls === undefined
        ? createServer({ noDelay: true, ...KEEP_ALIVE_PROBES }, (socket) => this.#takePlain(socket))
        : this.#createTlsServer(options.tls);
    limitConnections(this.#server, { what: options.what }, deps.log);
    this.#server.on("connection", (socket: Socket) => {
      this.#open.set(socket, peerAddress(socket));
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Opens the listener on a TCP address; fails with LISTEN_FAILED. */
  async open(options: ListenOptions): Promise<ListenAddress> {
    return await listen(this.#server, options);
  }

  /** Opens the listener on a unix socket; fails with LISTEN_FAILED. */
  async openUnix(options: ListenUnixOptions): Promise<void> {
    await listenUnix(this.#server, options);
  }

  /** Serves a connection that another process has accepted, as if it were the listener's own. */
  take(socket: Socket): void {
    this.#server.emit("connection", socket); // TLS begins in a listener of this event.
  }

  /** Takes no more connections; resolves when the open ones have ended. */
  async close(): Promise<void> {
    this.#unsubscribe?.();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve()); // Its only error says that it was not open.
    await promise;
  }

  /** Closes the connections that are still open. */
  cut(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #createTlsServer(tls: ListenerTls): TlsServer {
    const server = createTlsServer({
      ...secureContextOf(tls),
      ALPNProtocols: ["h2"],
      requestCert: tls.requireCertificate ?? tls.files.current().ca !== undefined,
      rejectUnauthorized: true,
      handshakeTimeout: tls.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
      ...KEEP_ALIVE_PROBES,
    });
    // Open connections keep the certificate with which they were opened.
    this.#unsubscribe = tls.files.onChange(() => server.setSecureContext(secureContextOf(tls)));
    server.on("secureConnection", (socket) => this.#takeSecure(socket, tls));
    server.on("tlsClientError", (error, socket) => this.#failHandshake(error, socket));
    return server;
  }

  #takePlain(socket: Socket): void {
    const peer = peerAddress(socket);
    const notHttp2 = (): void => this.#deps.failed(explainNotPlaintext(this.#options.words), peer);
    socket.on("error", (error) => {
      if (isForeignProtocol(error)) notHttp2();
      else this.#logBroken(peer, error);
    });
    this.#ready(socket, notHttp2);
  }

  #takeSecure(socket: TLSSocket, tls: ListenerTls): void {
    const peer = peerAddress(socket);
    socket.on("error", (error) => this.#logBroken(peer, error));
    const failure = findFailure(socket, tls);
    if (failure === undefined) {
      this.#ready(socket, () => this.#deps.failed(NO_HTTP2, peer));
      return;
    }
    this.#deps.failed(failure, peer);
    socket.destroy();
  }

  #failHandshake(error: Error, socket: TLSSocket): void {
    const connection = connectionUnder(socket);
    const peer = this.#open.get(connection) ?? peerAddress(connection);
    const failure = explainHandshake(
      {
        code: errorCode(error) ?? describeError(error),
        opensslReason: "reason" in error && typeof error.reason === "string" ? error.reason : "",
        // Typed as an Error, it is the name of one; null when there is none.
        certificateError: (socket.authorizationError as unknown as string | null | undefined) ?? undefined,
        bytesRead: connection.bytesRead,
      },
      this.#options.words,
    );
    if (failure === undefined) this.#deps.log.debug("A client opened a connection and closed it", { peer });
    else this.#deps.failed(failure, peer);
    socket.destroy(); // Node only reports a handshake that takes too long.
  }

  #logBroken(peer: string, error: Error): void {
    this.#deps.log.debug("A connection broke", { to: this.#options.what, peer, error });
  }
}

/** Only the given authority is trusted for clients, not the public ones: those certify anybody. */
function secureContextOf({ files }: ListenerTls) {
  return { ...files.current(), minVersion: "TLSv1.2" } as const;
}

function findFailure(
  socket: TLSSocket,
  { clientName, requireAlpn = false }: ListenerTls,
): ConnectionFailure | undefined {
  // A client that offers a list without HTTP/2 has failed the handshake; this one offered none.
  if (requireAlpn && socket.alpnProtocol !== "h2") return NO_HTTP2;
  const reason = clientName === undefined ? undefined : findNameFault(socket, clientName);
  if (reason === undefined) return undefined;
  return { kind: "untrusted-certificate", reason: `its certificate is not accepted: ${reason}` };
}

function findNameFault(socket: TLSSocket, clientName: string): string | undefined {
  const certificate = socket.getPeerCertificate();
  // Node would take the common name where there is no name of the right kind. envoyproxy/ratelimit
  // and RFC 6125 do not.
  if (certificate.subjectaltname === undefined) return "it has no subject alternative names";
  return checkServerIdentity(clientName, { ...certificate, subject: { ...certificate.subject, CN: "" } })?.message;
}

/**
 * The connection that carries TLS: it keeps the number of bytes and the address when it is closed.
 * Node 26 keeps it in a private field and has no public way from a TLS socket to it. Without the
 * field the TLS socket serves, which forgets both.
 */
function connectionUnder(socket: TLSSocket): Socket {
  return (socket as TLSSocket & { readonly _parent?: Socket | null })._parent ?? socket;
}

/** Returns true if nghttp2 found first bytes that are not those of HTTP/2. */
function isForeignProtocol(error: Error): boolean {
  return errorCode(error) === "ERR_HTTP2_ERROR" && error.message.includes("bad client magic");
}
