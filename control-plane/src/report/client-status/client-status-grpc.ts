// The client status service (CSDS) over gRPC, on the listener for pods: unary, and a stream with
// one answer per request.
import type { ServerDuplexStream } from "@grpc/grpc-js";
import {
  ClientStatusDiscoveryService,
  type ClientStatusRequest,
  type ClientStatusResponse,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { GrpcService } from "../../ads/services.ts";
import { ReportError } from "../report-error.ts";
import { grpcErrorOf, type ReportDeps, unaryMethod } from "../unary-method.ts";
import { clientStatus, type ClientStatusFacts } from "./client-status.ts";

/** Most streams at a time: each client that does not read may hold an answer of many megabytes. */
const STREAMS_MAX = 16;

/** What the service works with; the limit is that of unary calls, streams have their own. */
export interface ClientStatusDeps extends ReportDeps {
  readonly facts: () => ClientStatusFacts;
}

/** The service for the listener. */
export function clientStatusService({ facts, limit, log }: ClientStatusDeps): GrpcService {
  const open = new Set<Stream>();
  return {
    definition: serviceDefinition(ClientStatusDiscoveryService),
    implementation: {
      fetchClientStatus: unaryMethod((request: ClientStatusRequest) => clientStatus(facts(), request), { limit, log }),
      streamClientStatus: (call: Stream) => {
        call.on("error", (error) => log.debug("A stream of client status failed", { peer: call.getPeer(), error }));
        if (open.size >= STREAMS_MAX) {
          const message = `Cannot stream client status: this replica has ${STREAMS_MAX} such streams already`;
          call.emit("error", grpcErrorOf(new ReportError("WATCHERS_EXCEEDED", message, { transient: true }), log));
          return;
        }
        open.add(call);
        for (const end of ["cancelled", "close", "finish"]) call.on(end, () => open.delete(call));
        call.on("data", (request: ClientStatusRequest) => {
          try {
            const answer = clientStatus(facts(), request);
            // The next request is read when this answer is sent. `drain` would queue 16 answers.
            call.pause();
            call.write(answer, () => call.resume());
          } catch (error) {
            call.emit("error", grpcErrorOf(error, log));
          }
        });
        call.on("end", () => call.end());
      },
    },
  };
}

type Stream = ServerDuplexStream<ClientStatusRequest, ClientStatusResponse>;
