// Counts the calls of a method that is answered before its handler returns, for every gRPC engine.
// As in envoyproxy/ratelimit, a request that is no message of its type is no call of the method.
import type { GrpcTransportDeps } from "./grpc-transport.ts";
import { ResponseTimes } from "./response-times.ts";

/** Returns what runs `answer` as one call of the method, with its response time. */
export function countedCalls(name: string, deps: GrpcTransportDeps): (answer: () => void) => void {
  const { totalRequests, responseTime } = deps.statistics.method(name);
  const times = new ResponseTimes(responseTime, deps);
  return (answer) => {
    totalRequests.add(1);
    const startMs = times.begin();
    answer();
    times.end(startMs);
  };
}
