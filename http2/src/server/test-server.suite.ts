// A server on a real socket for tests, with methods that show what a connection can do.
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { createAuthority } from "@weir/certificates/authority";

import type { TurnTask } from "../grpc/method.ts";
import { TestService } from "../grpc/test-service.suite.ts";
import type { Http2Limits } from "../limits/limits.ts";
import { Http2Server } from "./http2-server.ts";

/** How a test server is reached. */
export type TestProtection = "plaintext" | "TLS";

/** The end of the event-loop turn, as setImmediate gives it. */
const TURN = {
  atTurnEnd: (task: TurnTask) => void setImmediate(() => task.runAtTurnEnd()),
  monotonicMs: () => performance.now(),
};

/** The server. */
export class TestServer {
  readonly service: TestService;
  readonly http2: Http2Server;
  /** Certificates of the authority that clients trust, PEM; undefined in plaintext. */
  readonly caPem: string | undefined;
  /** The prefaces of connections that are no HTTP/2: "http1" or "foreign". */
  readonly refused: string[] = [];
  readonly #listener: Server;

  private constructor(listener: Server, caPem: string | undefined, limits: Partial<Http2Limits>, prefix?: string) {
    this.service = new TestService(prefix);
    this.#listener = listener;
    this.caPem = caPem;
    this.http2 = new Http2Server({ methods: this.service.methods, turn: TURN, random: () => 0.5 }, limits);
  }

  /** Starts a server on a free port of 127.0.0.1; `prefix` is that of the service. */
  static async start(
    protection: TestProtection,
    limits: Partial<Http2Limits> = {},
    prefix?: string,
  ): Promise<TestServer> {
    const accept = (socket: Socket): void => {
      socket.on("error", () => {}); // Clients of tests break connections.
      server.http2.accept(socket, (preface) => void server.refused.push(preface));
    };
    const tls = protection === "TLS" ? await issueCertificate() : undefined;
    const listener =
      tls === undefined
        ? createServer({ noDelay: true }, accept)
        : createTlsServer({ key: tls.keyPem, cert: tls.certPem, ALPNProtocols: ["h2"], noDelay: true }, accept);
    const server = new TestServer(listener, tls?.caPem, limits, prefix);
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("The server does not listen");
    return address.port;
  }

  /** Takes no more connections, and closes the open ones. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    this.http2.close();
    await closed;
  }
}

async function issueCertificate() {
  const now = new Date();
  const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
  const pair = await authority.issue({
    commonName: "server",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    usage: "server",
    now,
    validDays: 1,
  });
  return { ...pair, caPem: authority.certPem };
}
