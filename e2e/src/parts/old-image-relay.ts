// A relay between a pod and the control plane that makes the pod behave like an older image: it
// replaces the unit "week" by an unknown number, so that the pod rejects rules that are valid.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitDescriptor,
  RateLimitConfigSchema,
  RateLimitUnit,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** A number that no unit has. */
const UNKNOWN_UNIT = 99;

const DEFINITION = serviceDefinition(AggregatedDiscoveryService);

/** A relay that listens. */
export interface OldImageRelay {
  /** On this machine, without TLS. */
  readonly port: number;
  stop(): void;
}

/** Starts a relay to the control plane on a port of this machine, which serves without TLS. */
export async function startOldImageRelay(controlPlanePort: number): Promise<OldImageRelay> {
  const server = new Server();
  const clients = new Set<Client>();
  const relay = (call: ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>): void => {
    const client = new Client(`127.0.0.1:${controlPlanePort}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
    clients.add(client);
    const { path, requestSerialize, responseDeserialize } = DEFINITION.streamAggregatedResources;
    const upstream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    const close = (): void => {
      upstream.cancel();
      client.close();
      clients.delete(client);
    };
    call.on("data", (request: DiscoveryRequest) => upstream.write(request));
    call.on("end", close);
    call.on("cancelled", close);
    upstream.on("data", (response: DiscoveryResponse) => call.write(withoutWeeks(response)));
    upstream.on("error", (error: Error) =>
      call.emit("error", Object.assign(new Error(error.message), { code: status.UNAVAILABLE })),
    );
  };
  server.addService(
    { streamAggregatedResources: DEFINITION.streamAggregatedResources },
    { streamAggregatedResources: relay },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    stop: () => {
      for (const client of clients) client.close();
      server.forceShutdown();
    },
  };
}

function withoutWeeks(response: DiscoveryResponse): DiscoveryResponse {
  for (const resource of response.resources) {
    const config = fromBinary(RateLimitConfigSchema, resource.value);
    replaceWeeks(config.descriptors);
    resource.value = toBinary(RateLimitConfigSchema, config);
  }
  return response;
}

function replaceWeeks(descriptors: readonly RateLimitDescriptor[]): void {
  for (const { rateLimit, descriptors: below } of descriptors) {
    if (rateLimit?.unit === RateLimitUnit.WEEK) rateLimit.unit = UNKNOWN_UNIT as RateLimitUnit;
    replaceWeeks(below);
  }
}
