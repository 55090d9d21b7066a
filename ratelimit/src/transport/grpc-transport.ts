// The common parts of the gRPC engines: settings, dependencies and the listener.
import type { Socket } from "node:net";

import type { Log } from "@weir/common/log/log";
import { ConnectionListener, type ListenerTls } from "@weir/common/net/connection-listener";
import type { ListenerWords } from "@weir/common/net/handshake-failure";
import { formatAddress } from "@weir/common/net/listen";
import type { Tracing } from "@weir/common/tracing/tracing";
import type { TurnEnd } from "@weir/common/turn/turn-end";

import type { Decider } from "../decide/decider.ts";
import type { Health } from "../health/health.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { ListenerAddress } from "./transport.ts";

/** Longest request message, in bytes: gRPC's own default. */
export const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

/**
 * When a peer is pinged and how long it has to answer, in milliseconds. gRPC's default of two hours
 * keeps dead connections for long.
 */
export const KEEPALIVE_TIME_MS = 30_000;
/** See KEEPALIVE_TIME_MS. */
export const KEEPALIVE_TIMEOUT_MS = 20_000;

/** The names in explanations of failed connections. */
const WORDS: ListenerWords = {
  server: "this service",
  clientAuthority: "GRPC_CLIENT_TLS_CACERT",
  plaintext: "without GRPC_SERVER_USE_TLS=true",
};

/** Dependencies of an engine. `nowMs` is a clock that only goes forward. */
export interface GrpcTransportDeps {
  readonly decider: Decider;
  readonly tracing: Tracing;
  readonly health: Health;
  readonly statistics: ServiceStatistics;
  readonly turn: TurnEnd;
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Settings of an engine. */
export interface GrpcTransportOptions {
  /** GRPC_UDS, or GRPC_HOST and GRPC_PORT. Default 0.0.0.0:8081. */
  readonly address: ListenerAddress;
  readonly tls: ListenerTls | undefined;
  /**
   * GRPC_MAX_CONNECTION_AGE: when a connection gets GOAWAY, plus or minus a tenth; 0 = never.
   * Default 24 hours.
   */
  readonly connectionAgeMaxMs: number;
  /**
   * GRPC_MAX_CONNECTION_AGE_GRACE: how long its running calls have then; 0 = no limit. Default 1
   * hour.
   */
  readonly connectionAgeGraceMs: number;
}

/**
 * The listener of an engine. The engines do not listen themselves: grpc-js checks no client names,
 * and its errors do not give the reason when it cannot listen.
 */
export class GrpcListener {
  readonly #listener: ConnectionListener;
  readonly #listenAddress: ListenerAddress;
  #address: string | undefined;

  /** Each connection that is ready goes to `ready`, which reports one that does not begin with HTTP/2. */
  constructor(
    { log }: Pick<GrpcTransportDeps, "log">,
    { address, tls }: GrpcTransportOptions,
    ready: (socket: Socket, notHttp2: () => void) => void,
  ) {
    this.#listenAddress = address;
    this.#listener = new ConnectionListener(
      { log, failed: ({ reason }, peer) => log.debug("A client could not connect to gRPC", { peer, reason }) },
      { what: "gRPC", tls, words: WORDS },
      ready,
    );
  }

  /** See Transport.address. */
  address(): string | undefined {
    return this.#address;
  }

  /** Opens the listener; fails with LISTEN_FAILED. */
  async open(): Promise<void> {
    const address = this.#listenAddress;
    if (address.kind === "tcp") {
      this.#address = formatAddress(await this.#listener.open({ ...address, setting: "GRPC_PORT", what: "gRPC" }));
      return;
    }
    await this.#listener.openUnix({ ...address, setting: "GRPC_UDS", what: "gRPC" });
    this.#address = `unix:${address.path}`;
  }

  /** Serves a connection that another process has accepted; the listener need not be open. */
  take(socket: Socket): void {
    this.#listener.take(socket);
  }

  /** Takes no more connections; the open ones stay. */
  close(): void {
    if (this.#address !== undefined) void this.#listener.close();
  }
}
