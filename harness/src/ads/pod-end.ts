// A pod's end of an ADS stream, whatever carries the stream. It enforces the protocol on every response:
// a test that breaks it fails, whatever it checks itself.
import assert from "node:assert/strict";

import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitConfig,
  RateLimitConfigSchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { HEARTBEAT_TYPE_URL } from "@weir/proto/grpc/heartbeat";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/** The fields of a request; the type is RateLimitConfig's by default. */
export interface RequestText {
  readonly type?: string;
  readonly names?: readonly string[];
  readonly version?: string;
  readonly nonce?: string;
  readonly error?: { readonly code?: number; readonly message: string } | undefined;
  readonly node?: MessageInitShape<typeof NodeSchema>;
}

/** A request. */
export function requestOf({ type, names = [], version, nonce, error, node }: RequestText): DiscoveryRequest {
  return create(DiscoveryRequestSchema, {
    typeUrl: type ?? RATE_LIMIT_CONFIG_TYPE_URL,
    resourceNames: [...names],
    versionInfo: version ?? "",
    responseNonce: nonce ?? "",
    ...(error && { errorDetail: { code: error.code ?? 0, message: error.message } }),
    ...(node && { node }),
  });
}

/** The resources of a response, which must be RateLimitConfigs. */
export function configsIn({ resources }: DiscoveryResponse): readonly RateLimitConfig[] {
  return resources.map(({ value }) => fromBinary(RateLimitConfigSchema, value));
}

/** Names of the resources of a response. */
export function namesOf(response: DiscoveryResponse): readonly string[] {
  return configsIn(response).map(({ name }) => name);
}

/** The limit of the first rule of each resource, by its name without namespace unless `key` returns another. */
export function limitsIn(
  response: DiscoveryResponse,
  key: (config: RateLimitConfig) => string = ({ name }) => name.slice(name.indexOf("/") + 1),
): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    configsIn(response).map((config) => [key(config), config.descriptors[0]?.rateLimit?.requestsPerUnit]),
  );
}

/** The pod's end. */
export abstract class PodEnd {
  /** On all its streams. */
  readonly responses: DiscoveryResponse[] = [];
  /** Those of a pod that asks for them; whether they are answered is up to the test. */
  readonly heartbeats: DiscoveryResponse[] = [];
  /** Nonces of the present stream. */
  readonly #nonces = new Set<string>();

  /** Sends a request. */
  abstract request(text?: RequestText): unknown;

  /** The last response; fails when there is none. */
  get last(): DiscoveryResponse {
    const response = this.responses.at(-1);
    if (response === undefined) throw new Error("The pod has no response");
    return response;
  }

  /** ACKs the last response. */
  accept(names: readonly string[] = []): void {
    this.request({ version: this.last.versionInfo, nonce: this.last.nonce, names });
  }

  /** Answers the last heartbeat. */
  answerHeartbeat(): void {
    this.request({ type: HEARTBEAT_TYPE_URL, nonce: this.heartbeats.at(-1)?.nonce ?? "" });
  }

  /** NACKs the last response as envoyproxy/ratelimit does: with a message only, and the version ACKed before. */
  reject(message: string, acceptedVersion = "", names: readonly string[] = []): void {
    this.request({ version: acceptedVersion, nonce: this.last.nonce, error: { message }, names });
  }

  /** A new stream begins. */
  protected begin(): void {
    this.#nonces.clear();
  }

  /** Keeps a response; throws when it breaks the protocol. */
  protected receive(response: DiscoveryResponse): void {
    const { nonce, typeUrl, versionInfo, resources } = response;
    assert.notEqual(nonce, "", "a response has a nonce");
    assert(!this.#nonces.has(nonce), "a nonce is used once");
    assert.notEqual(versionInfo, "", "a response has a version");
    this.#nonces.add(nonce);
    if (typeUrl === HEARTBEAT_TYPE_URL) {
      assert.deepEqual(resources, [], "a heartbeat has no resources");
      this.heartbeats.push(response);
      return;
    }
    assert.equal(typeUrl, RATE_LIMIT_CONFIG_TYPE_URL, "a response has the type of the request");
    for (const resource of resources)
      assert.equal(resource.typeUrl, typeUrl, "a resource has the type of its response");
    const names = namesOf(response);
    assert.deepEqual(names, [...new Set(names)].sort(), "each resource is in a response once, in canonical order");
    this.responses.push(response);
  }
}
