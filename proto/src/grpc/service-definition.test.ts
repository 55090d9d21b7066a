// Tests of the adapter between protobuf-es services and grpc-js.
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";

import { AggregatedDiscoveryService } from "../generated/envoy/service/discovery/v3/ads_pb.ts";
import { RateLimitRequestSchema, RateLimitService } from "../generated/envoy/service/ratelimit/v3/rls_pb.ts";
import { Health } from "../generated/grpc/health/v1/health_pb.ts";
import { RateLimitConfigDiscoveryService } from "../generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb.ts";
import { serviceDefinition } from "./service-definition.ts";

describe("serviceDefinition()", () => {
  it.each([
    {
      service: RateLimitService,
      method: "shouldRateLimit",
      path: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
      streams: [false, false],
    },
    {
      service: AggregatedDiscoveryService,
      method: "streamAggregatedResources",
      path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
      streams: [true, true],
    },
    { service: Health, method: "check", path: "/grpc.health.v1.Health/Check", streams: [false, false] },
    { service: Health, method: "watch", path: "/grpc.health.v1.Health/Watch", streams: [false, true] },
    {
      service: RateLimitConfigDiscoveryService,
      method: "fetchRlsConfigs",
      path: "/ratelimit.service.ratelimit.v3.RateLimitConfigDiscoveryService/FetchRlsConfigs",
      streams: [false, false],
    },
  ])("describes $path", ({ service, method, path, streams: [requestStream, responseStream] }) => {
    const definition: Readonly<Record<string, unknown>> = serviceDefinition(service);
    expect(definition[method]).toMatchObject({ path, requestStream, responseStream, originalName: path.split("/")[2] });
  });

  it("reads what it wrote", () => {
    const { shouldRateLimit } = serviceDefinition(RateLimitService);
    const request = create(RateLimitRequestSchema, { domain: "shop", hitsAddend: 3 });
    const bytes = shouldRateLimit.requestSerialize(request);
    expect(Buffer.isBuffer(bytes)).toBe(true);
    expect(bytes.toString("hex")).toBe("0a0473686f701803");
    expect(shouldRateLimit.requestDeserialize(bytes)).toEqual(request);
  });

  it("keeps nothing of fields that the message does not have", () => {
    const { shouldRateLimit } = serviceDefinition(RateLimitService);
    // "shop", and field 100, which is "abc".
    const request = shouldRateLimit.requestDeserialize(Buffer.from("0a0473686f70a20603616263", "hex"));
    expect([request.domain, request.$unknown]).toEqual(["shop", undefined]);
  });

  it("throws when bytes are no message", () => {
    const { shouldRateLimit } = serviceDefinition(RateLimitService);
    expect(() => shouldRateLimit.requestDeserialize(Buffer.from("0aff", "hex"))).toThrow();
  });
});
