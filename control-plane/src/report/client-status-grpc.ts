// The client status service (CSDS) over gRPC, on the listener for pods: one answer to one request, or an answer to each request on a stream.
import type { sendUnaryData, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import {
  ClientStatusDiscoveryService,
  type ClientStatusRequest,
  type ClientStatusResponse,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { GrpcService } from "../ads/grpc-service.ts";
import { clientStatus, type ClientStatusFacts } from "./client-status.ts";
import { grpcErrorOf } from "./grpc-error.ts";

/** What the service works with. */
export interface ClientStatusDeps {
  readonly facts: () => ClientStatusFacts;
  readonly log: Log;
}

/** The service for the listener. */
export function clientStatusService({ facts, log }: ClientStatusDeps): GrpcService {
  return {
    definition: serviceDefinition(ClientStatusDiscoveryService),
    implementation: {
      fetchClientStatus: (
        call: ServerUnaryCall<ClientStatusRequest, ClientStatusResponse>,
        answer: sendUnaryData<ClientStatusResponse>,
      ) => {
        try {
          answer(null, clientStatus(facts(), call.request));
        } catch (error) {
          answer(grpcErrorOf(error, log));
        }
      },
      streamClientStatus: (call: ServerDuplexStream<ClientStatusRequest, ClientStatusResponse>) => {
        call.on("error", (error) => log.debug("A stream of client status failed", { peer: call.getPeer(), error }));
        call.on("data", (request: ClientStatusRequest) => answerOnStream(call, request, { facts, log }));
        call.on("drain", () => call.resume());
        call.on("end", () => call.end());
      },
    },
  };
}

function answerOnStream(
  call: ServerDuplexStream<ClientStatusRequest, ClientStatusResponse>,
  request: ClientStatusRequest,
  { facts, log }: ClientStatusDeps,
): void {
  try {
    // The next request is read when the client has read this answer.
    if (!call.write(clientStatus(facts(), request))) call.pause();
  } catch (error) {
    call.emit("error", grpcErrorOf(error, log));
  }
}
