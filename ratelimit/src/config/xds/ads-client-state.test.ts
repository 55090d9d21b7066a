import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt";
import {
  type DiscoveryResponse,
  DiscoveryResponseSchema,
  ResourceSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { describe, expect, it } from "vitest";

import { acknowledge, INITIAL_STATE, readOffer, refuse, subscription } from "./ads-client-state.ts";

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
  it("subscription() names no version when none was accepted", () => {
    expect(subscription(INITIAL_STATE)).toEqual({ versionInfo: "", responseNonce: "", errorMessage: undefined });
  });

  it("subscription() names the accepted version and no nonce on a later stream", () => {
    const { state } = acknowledge(response({ versionInfo: "v7", nonce: "n9" }));
    expect(subscription(state)).toEqual({ versionInfo: "v7", responseNonce: "", errorMessage: undefined });
  });
});

describe("acknowledge", () => {
  it("acknowledge() answers with the version and nonce of the response", () => {
    expect(acknowledge(response({ versionInfo: "v7", nonce: "n9" }))).toEqual({
      state: { acceptedVersion: "v7" },
      request: { versionInfo: "v7", responseNonce: "n9", errorMessage: undefined },
    });
  });
});

describe("refuse", () => {
  it("refuse() names the version in force, the nonce of the response and the reason (case 192)", () => {
    const { state } = acknowledge(response({ versionInfo: "v1", nonce: "n1" }));
    expect(refuse(state, response({ versionInfo: "v2", nonce: "n2" }), "a: descriptor has empty key")).toEqual({
      versionInfo: "v1",
      responseNonce: "n2",
      errorMessage: "a: descriptor has empty key",
    });
  });

  it("refuse() names no version when none was accepted", () => {
    expect(refuse(INITIAL_STATE, response({ nonce: "n2" }), "x").versionInfo).toBe("");
  });

  it("refuse() cuts a reason that is longer than a message should carry", () => {
    expect(refuse(INITIAL_STATE, response({}), "x".repeat(5000)).errorMessage).toBe(`${"x".repeat(4096)}…`);
  });
});

describe("readOffer", () => {
  it("readOffer() reads every resource in its order", () => {
    expect(readOffer(response({ resources: [config("b"), config("a")] }))).toEqual({
      kind: "configs",
      configs: [
        { name: "b", domain: "domain-of-b", descriptors: [] },
        { name: "a", domain: "domain-of-a", descriptors: [] },
      ],
    });
  });

  it("readOffer() reads no resources as an empty configuration", () => {
    expect(readOffer(response({}))).toEqual({ kind: "configs", configs: [] });
  });

  it("readOffer() reads a resource that is wrapped", () => {
    const wrapped = anyPack(ResourceSchema, create(ResourceSchema, { name: "a", resource: config("a") }));
    expect(readOffer(response({ resources: [wrapped] }))).toEqual({
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
      "that is a wrapper with nothing in it",
      anyPack(ResourceSchema, create(ResourceSchema, { name: "a" })),
      "it is a Resource that holds nothing",
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
  ])("readOffer() finds the whole invalid when one resource is one %s", (_what, resource, reason) => {
    const offer = readOffer(response({ resources: [config("a"), resource] }));
    expect(offer).toEqual({ kind: "invalid", reason: expect.stringContaining(`resource 1: ${reason}`) });
  });

  it("readOffer() leaves alone what nobody asked for", () => {
    const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    expect(readOffer(response({ typeUrl }))).toEqual({ kind: "foreign", typeUrl });
  });
});
