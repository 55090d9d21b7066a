// Messages of an xDS client of one type: requests, ACKs and NACKs, and the content of responses of the
// state-of-the-world variant. Pure. Source: envoyproxy.io, "xDS REST and gRPC protocol".
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, type Any } from "@bufbuild/protobuf/wkt";
import {
  type DeltaDiscoveryResponse,
  type DiscoveryResponse,
  ResourceSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { inOneGo } from "@weir/limits/model/in-one-go";
import { modelOfMessage } from "@weir/limits/model/message";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/**
 * Longest reason of a NACK, in characters: gRPC limits the size of messages, and people read it.
 */
const REASON_MAX = 4096;

/** A response of either variant. */
export type AdsResponse = DiscoveryResponse | DeltaDiscoveryResponse;

/** The fields of a request that change; node and type never do. */
export interface RequestContent {
  /** The version of the active configuration; "" before the first. */
  readonly versionInfo: string;
  readonly responseNonce: string;
  /** Present in a NACK only. */
  readonly errorMessage: string | undefined;
  /** In the first request of an incremental stream: versions by name of what is held. */
  readonly heldVersions?: Readonly<Record<string, string>>;
}

/**
 * The content of a response: a whole configuration, an error in it, or another type of resource.
 */
export type ResponseContent =
  | { readonly kind: "configs"; readonly configs: readonly RateLimitConfigModel[] }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "foreign"; readonly typeUrl: string };

/**
 * The first request of a stream: no nonce, because those of an older stream mean nothing on a new
 * one.
 */
export function subscription(ackedVersion: string): RequestContent {
  return { versionInfo: ackedVersion, responseNonce: "", errorMessage: undefined };
}

/** The ACK of a response whose configuration is active. */
export function ack(versionInfo: string, { nonce }: AdsResponse): RequestContent {
  return { versionInfo, responseNonce: nonce, errorMessage: undefined };
}

/** The NACK of a response: names the version that stays active. */
export function nack(ackedVersion: string, response: AdsResponse, reason: string): RequestContent {
  const errorMessage = reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason;
  return { versionInfo: ackedVersion, responseNonce: response.nonce, errorMessage };
}

/** The configuration in a resource, or the reason why it does not decode. */
type Decoded = RateLimitConfigModel | string;

/** Decodes a response in one go. */
export function decodeResponse(response: DiscoveryResponse): ResponseContent {
  return inOneGo(decodeResponseSteps(response, (_resource, decode) => decode()));
}

/**
 * Decodes a response, with a step for each resource. One invalid resource makes the whole invalid, because a part of the
 * configuration must not become active. `take` may have the configuration of a resource already.
 */
export function* decodeResponseSteps(
  response: DiscoveryResponse,
  take: (resource: Any, decode: () => Decoded) => Decoded,
): Generator<undefined, ResponseContent> {
  // The client subscribes to one type. A response to another one, even a NACK, would subscribe to
  // it.
  if (response.typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL && response.typeUrl !== "")
    return { kind: "foreign", typeUrl: response.typeUrl };
  const configs: RateLimitConfigModel[] = [];
  for (const [index, resource] of response.resources.entries()) {
    const config = take(resource, () => decodeResource(resource));
    if (typeof config === "string") return { kind: "invalid", reason: `resource ${index}: ${config}` };
    configs.push(config);
    yield;
  }
  return { kind: "configs", configs };
}

/** Decodes the configuration in a resource. */
export function decodeResource(resource: Any): Decoded {
  try {
    // A server may wrap each resource, to give it a name or a time to live.
    const wrapped = anyUnpack(resource, ResourceSchema);
    const inner = wrapped === undefined ? resource : wrapped.resource;
    if (inner === undefined) return "it is an empty Resource";
    if (inner.typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL)
      return `its type is ${inner.typeUrl}, expected is ${RATE_LIMIT_CONFIG_TYPE_URL}`;
    return modelOfMessage(fromBinary(RateLimitConfigSchema, inner.value));
  } catch (error) {
    // Every error of the decoder means that these bytes are not such a message.
    return `cannot be decoded: ${error instanceof Error ? error.message : String(error)}`;
  }
}
