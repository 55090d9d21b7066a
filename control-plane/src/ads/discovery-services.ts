// The methods by which configuration is asked for, in the shape that grpc-js wants. Their answers
// are bytes already: a snapshot is serialised once, not for every stream.
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

const AS_BYTES = { responseSerialize: (response: Buffer): Buffer => response };

/** Any type on one stream; each request names its own. */
export const AGGREGATED = {
  streamAggregatedResources: {
    ...serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources,
    ...AS_BYTES,
  },
};

const { streamRlsConfigs, fetchRlsConfigs } = serviceDefinition(RateLimitConfigDiscoveryService);

/** Only RateLimitConfigs, whether a request says so or not. */
export const SINGLE_TYPE = {
  streamRlsConfigs: { ...streamRlsConfigs, ...AS_BYTES },
  fetchRlsConfigs: { ...fetchRlsConfigs, ...AS_BYTES },
};
