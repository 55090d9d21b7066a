// The gRPC health service over grpc-js.
import { type handleServerStreamingCall, type handleUnaryCall, type ServerWritableStream, status } from "@grpc/grpc-js";
import type {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthListRequest,
  HealthListResponse,
} from "@weir/proto/generated/grpc/health/v1/health_pb";

import { countedCalls } from "../counted-calls.ts";
import type { GrpcStatusName } from "../grpc-status.ts";
import type { GrpcTransportDeps } from "../grpc-transport.ts";
import { checkAnswer, type HealthWatch, HealthWatches, listAnswer, UNKNOWN_SERVICE } from "../health-answers.ts";
import { endStream } from "./end-stream.ts";

/** Handlers for `Server.addService`. */
export interface HealthHandlers {
  readonly handlers: {
    readonly check: handleUnaryCall<HealthCheckRequest, HealthCheckResponse>;
    readonly list: handleUnaryCall<HealthListRequest, HealthListResponse>;
    readonly watch: handleServerStreamingCall<HealthCheckRequest, HealthCheckResponse>;
  };
  /** Ends all watching streams, and every later one immediately. */
  endWatches(): void;
}

/** Handlers that answer from the health of `deps`. */
export function createHealthHandlers(deps: GrpcTransportDeps): HealthHandlers {
  const { health } = deps;
  const watches = new HealthWatches(health);
  const check: handleUnaryCall<HealthCheckRequest, HealthCheckResponse> = (call, callback) => {
    const answer = checkAnswer(health, call.request.service);
    if (answer === undefined) callback({ code: status.NOT_FOUND, details: UNKNOWN_SERVICE });
    else callback(null, answer);
  };
  const list: handleUnaryCall<HealthListRequest, HealthListResponse> = (_call, callback) =>
    callback(null, listAnswer(health));
  return {
    handlers: {
      check: counted("Check", check, deps),
      list: counted("List", list, deps),
      watch(call) {
        const watch = new GrpcJsWatch(call);
        const forget = (): void => watches.delete(watch);
        call.on("cancelled", forget).on("error", forget);
        watches.add(watch);
      },
    },
    endWatches: () => watches.end(),
  };
}

function counted<Request, Response>(
  name: string,
  handler: handleUnaryCall<Request, Response>,
  deps: GrpcTransportDeps,
): handleUnaryCall<Request, Response> {
  const count = countedCalls(name, deps);
  return (call, callback) => count(() => handler(call, callback));
}

/** A stream of the library; it keeps what the client does not read yet. */
class GrpcJsWatch implements HealthWatch {
  readonly #call: ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

  constructor(call: ServerWritableStream<HealthCheckRequest, HealthCheckResponse>) {
    this.#call = call;
  }

  get service(): string {
    return this.#call.request.service;
  }

  send(answer: HealthCheckResponse): void {
    this.#call.write(answer);
  }

  end(name: GrpcStatusName, message: string): void {
    endStream(this.#call, name, message);
  }
}
