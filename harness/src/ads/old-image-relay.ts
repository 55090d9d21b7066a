// A relay between a pod and the control plane that makes the pod behave like an old image: it replaces
// the unit "week" by an unknown number, so that the pod NACKs valid rules.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Client, Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
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
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import type { Env } from "../processes/programs.ts";
import { openAdsStream } from "./stream-pod.ts";

/** A number that no unit has. */
const UNKNOWN_UNIT = 99;

/** A relay that listens. */
export interface OldImageRelay {
  /** The settings of a pod that connects to it, which is without TLS. */
  readonly podEnv: Env;
  stop(): void;
}

/** Starts a relay to the control plane at a port of this machine, with the certificate of a pod. */
export async function startOldImageRelay(
  controlPlanePort: number,
  certificates: DevelopmentCertificates,
): Promise<OldImageRelay> {
  const server = new Server();
  const clients = new Set<Client>();
  const relay = (call: ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>): void => {
    const { client, stream: upstream } = openAdsStream(controlPlanePort, certificates);
    clients.add(client);
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
  const { streamAggregatedResources } = serviceDefinition(AggregatedDiscoveryService);
  server.addService({ streamAggregatedResources }, { streamAggregatedResources: relay });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    podEnv: {
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${port}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "",
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "",
    },
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
