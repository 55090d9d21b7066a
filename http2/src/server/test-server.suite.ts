// A server on a real socket for tests, with methods that show what a connection can do.
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { createAuthority } from "@weir/certificates/authority";

import type {
  MessageEncoder,
  StreamingCall,
  StreamingMethod,
  Turn,
  TurnTask,
  UnaryCall,
  UnaryMethod,
} from "../grpc/method.ts";
import type { Http2Limits } from "../limits/limits.ts";
import { Http2Server } from "./http2-server.ts";

/** How a test server is reached. */
export type TestProtection = "plaintext" | "TLS";

/** Encodes a Buffer as it is. */
const BYTES: MessageEncoder<Buffer> = {
  maxBytes: (value) => value.length,
  encode: (value, target, offset) => offset + value.copy(target, offset),
};

/** The end of the event-loop turn, as setImmediate gives it. */
class ImmediateTurn implements Turn {
  #tasks: TurnTask[] = [];

  atTurnEnd(task: TurnTask): void {
    if (this.#tasks.length === 0) setImmediate(() => this.#run());
    this.#tasks.push(task);
  }

  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  #run(): void {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task.runAtTurnEnd();
  }
}

/** The server. */
export class TestServer {
  readonly http2: Http2Server;
  /** Certificates of the authority that clients trust, PEM; undefined in plaintext. */
  readonly caPem: string | undefined;
  /** Calls of "Later", which a test answers. */
  readonly waiting: UnaryCall[] = [];
  /** Streaming calls that were cancelled. */
  cancelled = 0;
  /** What connections that are no HTTP/2 began with. */
  readonly refused: string[] = [];
  readonly #listener: Server;

  private constructor(listener: Server, caPem: string | undefined, limits: Partial<Http2Limits>) {
    this.#listener = listener;
    this.caPem = caPem;
    const methods = new Map<string, UnaryMethod | StreamingMethod>([
      ["/test.Service/Echo", ECHO],
      ["/test.Service/Headers", HEADERS],
      ["/test.Service/Later", { kind: "unary", handle: (call) => void this.waiting.push(call) }],
      ["/test.Service/Chat", this.#stream((call) => call.end(0, ""))],
      ["/test.Service/Watch", this.#stream(() => {})],
    ]);
    this.http2 = new Http2Server({ methods, turn: new ImmediateTurn(), random: () => 0.5 }, limits);
  }

  /** Starts a server on a free port of 127.0.0.1. */
  static async start(protection: TestProtection, limits: Partial<Http2Limits> = {}): Promise<TestServer> {
    const accept = (socket: Socket): void => {
      socket.on("error", () => {}); // Clients of tests break connections.
      server.http2.accept(socket, (preface) => void server.refused.push(preface));
    };
    const tls = protection === "TLS" ? await issueCertificate() : undefined;
    const listener =
      tls === undefined
        ? createServer({ noDelay: true }, accept)
        : createTlsServer({ key: tls.keyPem, cert: tls.certPem, ALPNProtocols: ["h2"], noDelay: true }, accept);
    const server = new TestServer(listener, tls?.caPem, limits);
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

  /** A method that answers each message with itself. */
  #stream(halfClosed: (call: StreamingCall) => void): StreamingMethod {
    return {
      kind: "streaming",
      open: (call) => ({
        message: (bytes, start, end) => void call.send(BYTES, Buffer.from(bytes.subarray(start, end))),
        halfClosed: () => halfClosed(call),
        sent: () => {},
        cancelled: () => void (this.cancelled += 1),
      }),
    };
  }
}

const ECHO: UnaryMethod = {
  kind: "unary",
  handle: (call, bytes, start, end) => call.reply(BYTES, bytes.subarray(start, end)),
};

/** Answers with the headers of the request as JSON. */
const HEADERS: UnaryMethod = {
  kind: "unary",
  handle: (call) => call.reply(BYTES, Buffer.from(JSON.stringify(call.headers()))),
};

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
