// The client status service (CSDS) over gRPC, on the listener for pods: unary, and a stream with
// one answer per request.
import type { sendUnaryData, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import {
  ClientStatusDiscoveryService,
  type ClientStatusRequest,
  type ClientStatusResponse,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { GrpcService } from "../../ads/services.ts";
import { type ConcurrencyLimit, deliveryOfCall } from "../concurrency-limit.ts";
import { clientStatus, type ClientStatusFacts } from "./client-status.ts";
import { grpcErrorOf, ReportError } from "../report-error.ts";

/** Most streams at a time: each client that does not read may hold an answer of many megabytes. */
const STREAMS_MAX = 16;

/** What the service works with. */
export interface ClientStatusDeps {
  readonly facts: () => ClientStatusFacts;
  /** Limits answers to unary calls; streams have their own limit. */
  readonly limit: ConcurrencyLimit;
  readonly log: Log;
}

/** The service for the listener. */
export function clientStatusService({ facts, limit, log }: ClientStatusDeps): GrpcService {
  const open = new Set<Stream>();
  return {
    definition: serviceDefinition(ClientStatusDiscoveryService),
    implementation: {
      fetchClientStatus: (
        call: ServerUnaryCall<ClientStatusRequest, ClientStatusResponse>,
        answer: sendUnaryData<ClientStatusResponse>,
      ) => {
        try {
          limit.admit(deliveryOfCall(call));
          answer(null, clientStatus(facts(), call.request));
        } catch (error) {
          answer(grpcErrorOf(error, log));
        }
      },
      streamClientStatus: (call: Stream) => {
        call.on("error", (error) => log.debug("A stream of client status failed", { peer: call.getPeer(), error }));
        if (open.size >= STREAMS_MAX) {
          const message = `Cannot stream client status: this replica has ${STREAMS_MAX} such streams already`;
          call.emit("error", grpcErrorOf(new ReportError("WATCHERS_EXCEEDED", message, { transient: true }), log));
          return;
        }
        open.add(call);
        for (const end of ["cancelled", "close", "finish"]) call.on(end, () => open.delete(call));
        call.on("data", (request: ClientStatusRequest) => answerOnStream(call, request, { facts, log }));
        call.on("end", () => call.end());
      },
    },
  };
}

type Stream = ServerDuplexStream<ClientStatusRequest, ClientStatusResponse>;

function answerOnStream(
  call: Stream,
  request: ClientStatusRequest,
  { facts, log }: Pick<ClientStatusDeps, "facts" | "log">,
): void {
  try {
    const answer = clientStatus(facts(), request);
    // The next request is read when this answer is sent. `drain` would queue 16 answers.
    call.pause();
    call.write(answer, () => call.resume());
  } catch (error) {
    call.emit("error", grpcErrorOf(error, log));
  }
}
