// The service behind the proxy in the scenarios: responds to every request with 200 and counts them,
// so that a test knows which ones the proxy forwarded.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { STACK_HOST } from "@weir/dev/setup/ports";

/** Its default answer. */
const HELLO = { body: "hello\n", type: "text/plain" };

/** Starts an upstream on a free port. */
export async function startUpstream(
  host: string = STACK_HOST,
  { body, type }: { readonly body: string | Buffer; readonly type: string } = HELLO,
): Promise<Upstream> {
  const requests = new Map<string, number>();
  // Never closes an idle connection: the proxy may be about to use it, and the request would fail.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const user = String(request.headers["x-user"] ?? "");
    requests.set(user, (requests.get(user) ?? 0) + 1);
    request.resume();
    response.setHeader("content-type", type).end(body);
  });
  await once(server.listen(0, host), "listening");
  return new Upstream(server, requests);
}

/** A running upstream. */
export class Upstream {
  readonly port: number;
  readonly #server: Server;
  readonly #requests: ReadonlyMap<string, number>;

  constructor(server: Server, requests: ReadonlyMap<string, number>) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#requests = requests;
  }

  /** Requests that arrived so far, whose header `x-user` is `user`. */
  requestsOf(user: string): number {
    return this.#requests.get(user) ?? 0;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server.close(), "close");
    this.#server.closeAllConnections();
    await closed;
  }
}
