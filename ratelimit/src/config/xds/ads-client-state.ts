// The protocol of an xDS client of one type, state of the world: what to ask first, what a response
// offers, how to acknowledge and how to refuse. Pure: streams, timers and the rules themselves are
// elsewhere. Source: envoyproxy.io, "xDS REST and gRPC protocol".
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, type Any } from "@bufbuild/protobuf/wkt";
import { type DiscoveryResponse, ResourceSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { modelOfMessage } from "@weir/limits/model/message";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/**
 * Longest reason that goes to the server in a rejection, in characters: gRPC limits what a message
 * may hold, and people read it.
 */
const REASON_MAX = 4096;

/** What is remembered from stream to stream. */
export interface AdsClientState {
  /** The version last put in force; "" before the first. */
  readonly acceptedVersion: string;
}

/** What a request says beside node and type, which never change. */
export interface RequestContent {
  readonly versionInfo: string;
  readonly responseNonce: string;
  /** Present in a rejection only. */
  readonly errorMessage: string | undefined;
}

/**
 * What a response offers: a whole configuration, an error in it, or something for another client.
 */
export type Offer =
  | { readonly kind: "configs"; readonly configs: readonly RateLimitConfigModel[] }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "foreign"; readonly typeUrl: string };

/** The state before the first stream. */
export const INITIAL_STATE: AdsClientState = { acceptedVersion: "" };

/**
 * The first request of a stream: the nonces of an older stream mean nothing on a new one, the
 * version in force does.
 */
export function subscription(state: AdsClientState): RequestContent {
  return { versionInfo: state.acceptedVersion, responseNonce: "", errorMessage: undefined };
}

/**
 * What a response offers. One resource that does not decode makes the whole invalid: a part of the
 * configuration is not the configuration.
 */
export function readOffer(response: DiscoveryResponse): Offer {
  // Nothing else was asked for. Answering, even with a rejection, would subscribe to it.
  if (response.typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL && response.typeUrl !== "")
    return { kind: "foreign", typeUrl: response.typeUrl };
  const configs: RateLimitConfigModel[] = [];
  for (const [index, resource] of response.resources.entries()) {
    const config = readResource(resource);
    if (typeof config === "string") return { kind: "invalid", reason: `resource ${index}: ${config}` };
    configs.push(config);
  }
  return { kind: "configs", configs };
}

/** The state and the request after a response was put in force. */
export function acknowledge(response: DiscoveryResponse): {
  readonly state: AdsClientState;
  readonly request: RequestContent;
} {
  const { versionInfo, nonce } = response;
  return {
    state: { acceptedVersion: versionInfo },
    request: { versionInfo, responseNonce: nonce, errorMessage: undefined },
  };
}

/** The request after a response was refused: names the version that stays in force. */
export function refuse(state: AdsClientState, response: DiscoveryResponse, reason: string): RequestContent {
  const errorMessage = reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason;
  return { versionInfo: state.acceptedVersion, responseNonce: response.nonce, errorMessage };
}

/** The configuration in a resource, or why there is none. */
function readResource(resource: Any): RateLimitConfigModel | string {
  try {
    // A server may wrap each resource, to give it a name or a time to live.
    const wrapped = anyUnpack(resource, ResourceSchema);
    const inner = wrapped === undefined ? resource : wrapped.resource;
    if (inner === undefined) return "it is a Resource that holds nothing";
    if (inner.typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL)
      return `its type is ${inner.typeUrl}, expected is ${RATE_LIMIT_CONFIG_TYPE_URL}`;
    return modelOfMessage(fromBinary(RateLimitConfigSchema, inner.value));
  } catch (error) {
    // Whatever the decoder throws means that these bytes are no such message.
    return `cannot be decoded: ${error instanceof Error ? error.message : String(error)}`;
  }
}
