// The gRPC services of the listener for pods, in the shape that grpc-js takes.
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** A further service. Its calls come from clients that may use the listener. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** Responses are bytes already: a snapshot is serialised once for all streams. */
const AS_BYTES = { responseSerialize: (response: Buffer): Buffer => response };

const { streamAggregatedResources } = serviceDefinition(AggregatedDiscoveryService);

/** Any type on one stream; each request names its own. */
export const AGGREGATED = { streamAggregatedResources: { ...streamAggregatedResources, ...AS_BYTES } };

const { streamRlsConfigs, fetchRlsConfigs } = serviceDefinition(RateLimitConfigDiscoveryService);

/** Only RateLimitConfigs, whether a request says so or not. */
export const SINGLE_TYPE = {
  streamRlsConfigs: { ...streamRlsConfigs, ...AS_BYTES },
  fetchRlsConfigs: { ...fetchRlsConfigs, ...AS_BYTES },
};
