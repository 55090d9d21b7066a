// Our messages against Envoy's own .proto files as npm carries them (@grpc/grpc-js-xds), read by a
// second protobuf implementation (protobufjs). They are older than the Go modules of
// published-descriptors.system.test.ts, but need no Go.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage } from "@bufbuild/protobuf";
import { loadSync } from "@grpc/proto-loader";
import type { MethodDefinition, PackageDefinition } from "@grpc/proto-loader";
import { beforeAll, describe, expect, it } from "vitest";

import {
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "./generated/envoy/service/discovery/v3/discovery_pb.ts";
import { RateLimitRequestSchema, RateLimitResponseSchema } from "./generated/envoy/service/ratelimit/v3/rls_pb.ts";

/** Folders of the package in which its .proto files look for their imports. */
const INCLUDED = ["envoy-api", "xds", "googleapis", "protoc-gen-validate"];

/** A method of one of the services. */
interface Call {
  readonly service: string;
  readonly method: string;
}

const SHOULD_RATE_LIMIT: Call = { service: "envoy.service.ratelimit.v3.RateLimitService", method: "ShouldRateLimit" };
const STREAM_RESOURCES: Call = {
  service: "envoy.service.discovery.v3.AggregatedDiscoveryService",
  method: "StreamAggregatedResources",
};

describe("our messages, against Envoy's .proto files", () => {
  let envoy: PackageDefinition;

  beforeAll(() => {
    const package_ = dirname(createRequire(import.meta.url).resolve("@grpc/grpc-js-xds/package.json"));
    envoy = loadSync(["envoy/service/ratelimit/v3/rls.proto", "envoy/service/discovery/v3/ads.proto"], {
      includeDirs: INCLUDED.map((folder) => join(package_, "deps", folder)),
      keepCase: true,
      longs: String,
      enums: String,
    });
  });

  const method = ({ service, method: name }: Call): MethodDefinition<object, object> => {
    const methods = envoy[service] as Readonly<Record<string, MethodDefinition<object, object>>> | undefined;
    const found = methods?.[name];
    if (found === undefined) throw new Error(`The package has no method ${service}/${name}`);
    return found;
  };
  const readByOurs = (schema: DescMessage, bytes: Buffer): unknown => withoutInternals(fromBinary(schema, bytes));

  it("read a request that they wrote", () => {
    const bytes = method(SHOULD_RATE_LIMIT).requestSerialize({
      domain: "shop",
      descriptors: [{ entries: [{ key: "user", value: "ada" }], limit: { requests_per_unit: 12, unit: "DAY" } }],
      hits_addend: 3,
    });
    expect(readByOurs(RateLimitRequestSchema, bytes)).toMatchObject({
      domain: "shop",
      descriptors: [
        { entries: [{ key: "user", value: "ada" }], limit: { requestsPerUnit: 12, unit: 4 }, isNegativeHits: false },
      ],
      hitsAddend: 3,
    });
  });

  it("write a response that they read", () => {
    const response = create(RateLimitResponseSchema, {
      overallCode: 2,
      statuses: [
        {
          code: 2,
          currentLimit: { requestsPerUnit: 4_294_967_295, unit: 6, name: "yearly" },
          limitRemaining: 1,
          durationUntilReset: { seconds: 86_400n, nanos: 5 },
          quota: { requests: 4, id: "q", expirationSpecifier: { case: "validUntil", value: { seconds: 7n } } },
        },
      ],
      responseHeadersToAdd: [{ key: "a", value: "b" }],
      requestHeadersToAdd: [{ key: "c", rawValue: Uint8Array.of(1, 2) }],
      rawBody: Uint8Array.of(3),
      dynamicMetadata: { limitRule: "shop" },
      quota: { requests: 9 },
    });
    const theirs = method(SHOULD_RATE_LIMIT).responseDeserialize(
      Buffer.from(toBinary(RateLimitResponseSchema, response)),
    );
    expect(theirs).toEqual({
      overall_code: "OVER_LIMIT",
      statuses: [
        {
          code: "OVER_LIMIT",
          current_limit: { requests_per_unit: 4_294_967_295, unit: "YEAR", name: "yearly" },
          limit_remaining: 1,
          duration_until_reset: { seconds: "86400", nanos: 5 },
          quota: { requests: 4, id: "q", valid_until: { seconds: "7" } },
        },
      ],
      response_headers_to_add: [{ key: "a", value: "b" }],
      request_headers_to_add: [{ key: "c", raw_value: Buffer.of(1, 2) }],
      raw_body: Buffer.of(3),
      dynamic_metadata: { fields: { limitRule: { stringValue: "shop" } } },
      quota: { requests: 9 },
    });
  });

  it("read a rejection that they wrote", () => {
    const bytes = method(STREAM_RESOURCES).requestSerialize({
      version_info: "v1",
      node: { id: "edge/pod-1", metadata: { fields: { fleet: { stringValue: "edge" } } }, locality: { zone: "b" } },
      resource_names: ["*"],
      type_url: "t",
      response_nonce: "n2",
      error_detail: { message: "no" },
    });
    expect(readByOurs(DiscoveryRequestSchema, bytes)).toMatchObject({
      versionInfo: "v1",
      node: { id: "edge/pod-1", metadata: { fleet: "edge" }, locality: { zone: "b" } },
      resourceNames: ["*"],
      typeUrl: "t",
      responseNonce: "n2",
      errorDetail: { code: 0, message: "no" },
    });
  });

  it("write a discovery response that they read", () => {
    const response = create(DiscoveryResponseSchema, {
      versionInfo: "v2",
      resources: [{ typeUrl: "t", value: Uint8Array.of(10, 0) }],
      typeUrl: "t",
      nonce: "n3",
      controlPlane: { identifier: "replica-0" },
    });
    const theirs = method(STREAM_RESOURCES).responseDeserialize(
      Buffer.from(toBinary(DiscoveryResponseSchema, response)),
    );
    expect(theirs).toMatchObject({
      version_info: "v2",
      resources: [{ type_url: "t", value: Buffer.of(10, 0) }],
      type_url: "t",
      nonce: "n3",
      control_plane: { identifier: "replica-0" },
    });
  });
});

function withoutInternals(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message, (key, value: unknown) => (key.startsWith("$") ? undefined : value)));
}
