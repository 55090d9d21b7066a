// A fake API server for answers that a real one gives rarely: each request waits until the test
// answers it. Only tests import it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import type { ClusterAccess } from "../access/cluster-access.ts";

/** A request that waits for its answer. */
export interface FakeCall {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** The port from which it came: the same for requests over the same connection. */
  readonly fromPort: number;
  /** Answers with a status and a whole body; objects become JSON. */
  answer(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void;
  /** Begins an answer without ending it. */
  open(headers?: Readonly<Record<string, string>>, status?: number): void;
  /** Sends a piece of such an answer. */
  send(piece: string | Buffer): void;
  /** Ends such an answer as it should. */
  end(): void;
  /** Cuts the connection. */
  cut(): void;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<unknown>;
}

export interface FakeApiServer {
  readonly url: string;
  /** Access without credentials; counts how often it was asked to renew them. */
  readonly access: ClusterAccess & { renewals: number };
  /** Lets requests for a tunnel, as to a proxy, wait without an answer. */
  holdTunnels(): void;
  /** The next request, once it is there. */
  next(): Promise<FakeCall>;
  close(): Promise<void>;
}

/** Starts it, without TLS. */
export async function startFakeApiServer(): Promise<FakeApiServer> {
  const calls: FakeCall[] = [];
  const tunnels: Duplex[] = [];
  const waiting: ((call: FakeCall) => void)[] = [];
  const server = createServer((request, response) => {
    const call = callOf(request, response);
    const taker = waiting.shift();
    if (taker === undefined) calls.push(call);
    else taker(call);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access = {
    renewals: 0,
    forRequest: () => Promise.resolve({ server: url, headers: {}, tls: { ca: undefined }, proxyUrl: undefined }),
    renew: () => {
      access.renewals += 1;
    },
  };
  return {
    url,
    access,
    holdTunnels: () => {
      server.on("connect", (_request, socket) => tunnels.push(socket));
    },
    next: async () => calls.shift() ?? (await new Promise<FakeCall>((resolve) => waiting.push(resolve))),
    close: async () => {
      for (const tunnel of tunnels) tunnel.destroy();
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

function callOf(request: IncomingMessage, response: ServerResponse): FakeCall {
  const url = new URL(request.url ?? "/", "http://localhost");
  return {
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    fromPort: request.socket.remotePort ?? 0,
    answer: (status, body, headers = {}) => {
      response
        .writeHead(status, headers)
        .end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    },
    open: (headers = {}, status = 200) => {
      response.writeHead(status, headers).flushHeaders();
    },
    send: (piece) => {
      response.write(piece);
    },
    end: () => {
      response.end();
    },
    cut: () => {
      request.socket.destroy();
    },
    // Also by an error.
    closed: new Promise((resolve) => request.socket.once("close", resolve)),
  };
}
