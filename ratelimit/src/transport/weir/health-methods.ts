// The methods of the gRPC health service.
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type {
  StreamingCall,
  StreamingMethod,
  StreamingReceiver,
  UnaryCall,
  UnaryMethod,
} from "@weir/http2/grpc/method";
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";

import { countedCalls } from "../counted-calls.ts";
import { GRPC_STATUS_NUMBER, type GrpcStatusName } from "../grpc-status.ts";
import type { GrpcTransportDeps } from "../grpc-transport.ts";
import { checkAnswer, type HealthWatch, type HealthWatches, listAnswer, UNKNOWN_SERVICE } from "../health-answers.ts";
import { decodeMessage, ENCODED_MESSAGE } from "./library-messages.ts";
import { failMalformed, malformedRequestText } from "./malformed-request.ts";

/** The method Check. */
export function createCheck(deps: GrpcTransportDeps): UnaryMethod {
  return counted("Check", HealthCheckRequestSchema, deps, (call, { service }) => {
    const answer = checkAnswer(deps.health, service);
    if (answer === undefined) call.fail(GRPC_STATUS_NUMBER.NOT_FOUND, UNKNOWN_SERVICE);
    else call.reply(ENCODED_MESSAGE, toBinary(HealthCheckResponseSchema, answer));
  });
}

/** The method List. */
export function createList(deps: GrpcTransportDeps): UnaryMethod {
  return counted("List", HealthListRequestSchema, deps, (call) =>
    call.reply(ENCODED_MESSAGE, toBinary(HealthListResponseSchema, listAnswer(deps.health))),
  );
}

/** The method Watch. */
export function createWatch(watches: HealthWatches): StreamingMethod {
  return { kind: "streaming", open: (call) => new Watch(call, watches) };
}

function counted<Schema extends DescMessage>(
  name: string,
  schema: Schema,
  deps: GrpcTransportDeps,
  answer: (call: UnaryCall, request: MessageShape<Schema>) => void,
): UnaryMethod {
  const count = countedCalls(name, deps);
  return {
    kind: "unary",
    handle(call, bytes, start, end) {
      let request: MessageShape<Schema>;
      try {
        request = decodeMessage(schema, bytes, start, end);
      } catch (error) {
        failMalformed(call, error);
        return;
      }
      count(() => answer(call, request));
    },
  };
}

/** A call of Watch, which has one request and answers without an end. */
class Watch implements HealthWatch, StreamingReceiver {
  readonly #call: StreamingCall;
  readonly #watches: HealthWatches;
  #service: string | undefined;
  /** The newest status, while the client does not take an earlier one. */
  #unsent: HealthCheckResponse | undefined;

  constructor(call: StreamingCall, watches: HealthWatches) {
    this.#call = call;
    this.#watches = watches;
  }

  get service(): string {
    return this.#service ?? "";
  }

  message(bytes: Buffer, start: number, end: number): void {
    try {
      const { service } = decodeMessage(HealthCheckRequestSchema, bytes, start, end);
      if (this.#service === undefined) {
        this.#service = service;
        this.#watches.add(this);
        return;
      }
    } catch (error) {
      this.end("INTERNAL", malformedRequestText(error));
      return;
    }
    this.end("INTERNAL", "Watch has one request");
  }

  halfClosed(): void {
    if (this.#service === undefined) this.end("INTERNAL", "Watch has one request");
  }

  sent(): void {
    const status = this.#unsent;
    if (status === undefined) return;
    this.#unsent = undefined;
    this.send(status);
  }

  cancelled(): void {
    this.#watches.delete(this);
  }

  send(status: HealthCheckResponse): void {
    if (!this.#call.send(ENCODED_MESSAGE, toBinary(HealthCheckResponseSchema, status))) this.#unsent = status;
  }

  end(name: GrpcStatusName, message: string): void {
    this.#watches.delete(this);
    this.#call.end(GRPC_STATUS_NUMBER[name], message);
  }
}
