// Tests of how pods read responses without their resources, against messages that the protobuf library made.
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { describe, expect, it } from "vitest";

import { WITHOUT_RESOURCES } from "./scripted-pod.ts";

describe("WITHOUT_RESOURCES", () => {
  const head = { versionInfo: "v-1", typeUrl: "type", nonce: "1" };
  const resources = [create(AnySchema, { typeUrl: "type", value: new Uint8Array(70_000) })];
  const bytes = toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, { ...head, resources, controlPlane: { identifier: "replica-1" } }),
  );

  it("reads version, type and nonce of a response, and skips the rest", () => {
    expect(WITHOUT_RESOURCES.responseDeserialize(Buffer.from(bytes))).toEqual(create(DiscoveryResponseSchema, head));
  });

  it("refuses a response that ends too early", () => {
    expect(() => WITHOUT_RESOURCES.responseDeserialize(Buffer.from(bytes.subarray(0, -1)))).toThrow("premature EOF");
  });
});
