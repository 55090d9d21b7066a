// A configuration server for tests that breaks connections where a script says: HTTP/2 frames and
// sockets, below gRPC.
import {
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/** Length of the prefix of each message of gRPC: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** One stream of a client, with everything below it. */
export interface RawStream {
  readonly stream: ServerHttp2Stream;
  readonly session: Http2Session;
  readonly socket: Socket;
  /** What the client sent so far. */
  readonly requests: readonly DiscoveryRequest[];
  /** Resolves when the client has sent so many requests, or its stream is over. */
  hasReceived(count: number): Promise<void>;
  /** Begins the answer. */
  respond(): void;
}

/** What is done with a stream; `number` counts streams from 0. */
export type Script = (stream: RawStream, number: number) => Promise<void>;

/** A response as bytes, with the prefix. */
export function responseFrame(version: string, resources: readonly Any[], nonce = `nonce-${version}`): Buffer {
  const message = create(DiscoveryResponseSchema, {
    versionInfo: version,
    nonce,
    typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
    resources: [...resources],
  });
  const bytes = toBinary(DiscoveryResponseSchema, message);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** The server. */
export class RawAdsServer {
  /** Every stream, in the order of arrival. */
  readonly streams: RawStream[] = [];
  readonly #server: Http2Server;
  readonly #sockets = new Set<Socket>();

  private constructor(script: Script) {
    this.#server = createServer();
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // The client ends connections, too.
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("sessionError", () => undefined); // That is what the tests are about.
    this.#server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const { session } = stream;
      // The session shows its socket in a form that cannot be destroyed; the number of the port
      // leads to the real one.
      const socket = [...this.#sockets].find(({ remotePort }) => remotePort === session?.socket.remotePort);
      if (session === undefined || socket === undefined || !isAdsCall(headers)) return;
      const raw = rawStreamOf(stream, session, socket);
      this.streams.push(raw);
      void script(raw, this.streams.length - 1);
    });
  }

  /** Opens one that treats each stream as the script says. */
  static async open(script: Script): Promise<RawAdsServer> {
    const server = new RawAdsServer(script);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Closes it with every connection. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function isAdsCall(headers: IncomingHttpHeaders): boolean {
  return headers[":path"] === "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
}

function rawStreamOf(stream: ServerHttp2Stream, session: Http2Session, socket: Socket): RawStream {
  const requests: DiscoveryRequest[] = [];
  let received = Buffer.alloc(0);
  let changed = Promise.withResolvers<void>();
  const notify = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  stream.on("error", notify);
  stream.on("close", notify);
  stream.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= PREFIX_BYTES && received.length >= PREFIX_BYTES + received.readUInt32BE(1)) {
      const end = PREFIX_BYTES + received.readUInt32BE(1);
      requests.push(fromBinary(DiscoveryRequestSchema, received.subarray(PREFIX_BYTES, end)));
      received = received.subarray(end);
    }
    notify();
  });
  return {
    stream,
    session,
    socket,
    requests,
    async hasReceived(count) {
      while (requests.length < count && !stream.destroyed) await changed.promise;
    },
    respond() {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    },
  };
}
