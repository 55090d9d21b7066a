// Tests of the reader of responses against messages that the protobuf library made.
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import {
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { describe, expect, it } from "vitest";

import { createHeadReader } from "./head-reader.ts";

describe("createHeadReader()", () => {
  const first = responseBytes("v-1", "1", 70_000);
  const second = responseBytes("v-2", "2", 0);

  it.each([1, 2, 7, 16_384, 1_000_000])(
    "returns version, type, nonce and size of every response when bytes come %i at a time",
    (step) => {
      const seen: unknown[] = [];
      const read = createHeadReader((response, sizeBytes) => seen.push([response, sizeBytes]));
      const bytes = Buffer.concat([first, second]);
      for (let at = 0; at < bytes.length; at += step) read(bytes.subarray(at, at + step));
      expect(seen).toEqual([
        [headOf("v-1", "1"), first.length - 5],
        [headOf("v-2", "2"), second.length - 5],
      ]);
    },
  );

  it("returns nothing before the last byte has come", () => {
    const seen: unknown[] = [];
    const read = createHeadReader((response, sizeBytes) => seen.push([response, sizeBytes]));
    read(first.subarray(0, -1));
    expect(seen).toEqual([]);
    read(first.subarray(-1));
    expect(seen).toHaveLength(1);
  });

  it("refuses a field that is longer than its message", () => {
    const read = createHeadReader(() => undefined);
    expect(() => read(Buffer.from([0, 0, 0, 0, 2, 0x0a, 9]))).toThrow(
      "A response holds a field that is longer than the response",
    );
  });
});

function responseBytes(versionInfo: string, nonce: string, valueBytes: number): Buffer {
  const resources = [create(AnySchema, { typeUrl: "type", value: new Uint8Array(valueBytes) })];
  const message = toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, { versionInfo, nonce, resources, typeUrl: "type" }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function headOf(versionInfo: string, nonce: string): DiscoveryResponse {
  return create(DiscoveryResponseSchema, { versionInfo, typeUrl: "type", nonce });
}
