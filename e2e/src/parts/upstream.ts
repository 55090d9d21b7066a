// The service behind the proxy in the scenarios: answers every request with 200 and counts them, so
// that a test can tell what the proxy let through from what it merely answered.
import { createServer } from "node:http";
import { STACK_HOST } from "@weir/dev/setup/ports";

/** A running upstream. */
export interface Upstream {
  readonly port: number;
  /** Requests that arrived so far, whose header `x-user` is `user`. */
  requestsOf(user: string): number;
  stop(): Promise<void>;
}

/** Starts an upstream on a free port. */
export function startUpstream(): Promise<Upstream> {
  const requests = new Map<string, number>();
  // Never closes a connection by itself: the proxy may be about to use it, and the request would
  // fail.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const user = String(request.headers["x-user"] ?? "");
    requests.set(user, (requests.get(user) ?? 0) + 1);
    request.resume();
    response.end("hello\n");
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, STACK_HOST, () => {
      const address = server.address();
      if (typeof address !== "object" || address === null) throw new Error("Cannot tell the port of the upstream");
      resolve({
        port: address.port,
        requestsOf: (user) => requests.get(user) ?? 0,
        stop: () => {
          server.closeAllConnections();
          return new Promise((done) => {
            server.close(() => done());
          });
        },
      });
    });
  });
}
