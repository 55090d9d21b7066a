import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt";
import {
  type DiscoveryResponse,
  DiscoveryResponseSchema,
  ResourceSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { describe, expect, it } from "vitest";

import { ack, decodeResponse, nack, subscription } from "./ads-messages.ts";

const TYPE_URL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

function config(name: string): Any {
  return create(AnySchema, {
    typeUrl: TYPE_URL,
    value: toBinary(RateLimitConfigSchema, create(RateLimitConfigSchema, { name, domain: `domain-of-${name}` })),
  });
}

function response(
  fields: Partial<{ versionInfo: string; nonce: string; typeUrl: string; resources: Any[] }>,
): DiscoveryResponse {
  return create(DiscoveryResponseSchema, { versionInfo: "v1", nonce: "n1", typeUrl: TYPE_URL, ...fields });
}

describe("subscription", () => {
  it("subscription() names no version when none was ACKed", () => {
    expect(subscription("")).toEqual({ versionInfo: "", responseNonce: "", errorMessage: undefined });
  });

  it("subscription() names the ACKed version and no nonce on a later stream", () => {
    expect(subscription("v7")).toEqual({ versionInfo: "v7", responseNonce: "", errorMessage: undefined });
  });
});

describe("ack", () => {
  it("ack() has the version and nonce of the response", () => {
    expect(ack("v7", response({ versionInfo: "v7", nonce: "n9" }))).toEqual({
      versionInfo: "v7",
      responseNonce: "n9",
      errorMessage: undefined,
    });
  });
});

describe("nack", () => {
  it("nack() names the active version, the nonce of the response and the reason (case 192)", () => {
    expect(nack("v1", response({ versionInfo: "v2", nonce: "n2" }), "a: descriptor has empty key")).toEqual({
      versionInfo: "v1",
      responseNonce: "n2",
      errorMessage: "a: descriptor has empty key",
    });
  });

  it("nack() names no version when none was ACKed", () => {
    expect(nack("", response({ nonce: "n2" }), "x").versionInfo).toBe("");
  });

  it("nack() shortens a reason above the maximum length", () => {
    expect(nack("", response({}), "x".repeat(5000)).errorMessage).toBe(`${"x".repeat(4096)}…`);
  });
});

describe("decodeResponse", () => {
  it("decodeResponse() reads every resource in its order", () => {
    expect(decodeResponse(response({ resources: [config("b"), config("a")] }))).toEqual({
      kind: "configs",
      configs: [
        { name: "b", domain: "domain-of-b", descriptors: [] },
        { name: "a", domain: "domain-of-a", descriptors: [] },
      ],
    });
  });

  it("decodeResponse() reads no resources as an empty configuration", () => {
    expect(decodeResponse(response({}))).toEqual({ kind: "configs", configs: [] });
  });

  it("decodeResponse() reads a resource that is wrapped", () => {
    const wrapped = anyPack(ResourceSchema, create(ResourceSchema, { name: "a", resource: config("a") }));
    expect(decodeResponse(response({ resources: [wrapped] }))).toEqual({
      kind: "configs",
      configs: [{ name: "a", domain: "domain-of-a", descriptors: [] }],
    });
  });

  it.each([
    [
      "of another type",
      create(AnySchema, { typeUrl: "type.googleapis.com/x.Y" }),
      "its type is type.googleapis.com/x.Y, expected is type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig",
    ],
    [
      "that is an empty wrapper",
      anyPack(ResourceSchema, create(ResourceSchema, { name: "a" })),
      "it is an empty Resource",
    ],
    [
      "of broken bytes",
      create(AnySchema, { typeUrl: TYPE_URL, value: Uint8Array.of(0x0a, 0x05, 0x41) }),
      "cannot be decoded: ",
    ],
    [
      "with a name that is no UTF-8",
      create(AnySchema, { typeUrl: TYPE_URL, value: Uint8Array.of(0x0a, 0x01, 0xff) }),
      "cannot be decoded: ",
    ],
  ])("decodeResponse() is invalid when one resource is one %s", (_what, resource, reason) => {
    const content = decodeResponse(response({ resources: [config("a"), resource] }));
    expect(content).toEqual({ kind: "invalid", reason: expect.stringContaining(`resource 1: ${reason}`) });
  });

  it("decodeResponse() reports the type of a response of another type", () => {
    const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    expect(decodeResponse(response({ typeUrl }))).toEqual({ kind: "foreign", typeUrl });
  });
});
