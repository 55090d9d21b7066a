// Tests of ads-server.ts without a connection: with which bounds gRPC is set up when nothing says
// otherwise.
import { Server } from "@grpc/grpc-js";
import { silentLog } from "@weir/common/log/log";
import { describe, expect, it, vi } from "vitest";

import { PodRegistry } from "../pods/pod-registry.ts";
import { AdsServer } from "./ads-server.ts";
import { FakePublisher } from "./stream/fake-ads-stream.suite.ts";

// The real classes; what they are made with is remembered.
vi.mock("@grpc/grpc-js", { spy: true });

describe("AdsServer", () => {
  it.each([
    { connectionAgeMaxMs: 3_600_000, ageMs: 3_600_000 },
    // A timer of Node takes 31 bits, and gRPC adds up to a tenth.
    { connectionAgeMaxMs: 2_147_483_647, ageMs: 1_900_000_000 },
  ])(
    "asks dead connections for a sign of life and ends those of $connectionAgeMaxMs ms",
    ({ connectionAgeMaxMs, ageMs }) => {
      new AdsServer(
        {
          log: silentLog(),
          security: { kind: "plaintext" },
          publisher: new FakePublisher(),
          pods: new PodRegistry({ clock: () => 0 }),
          clock: () => 0,
        },
        {
          host: "127.0.0.1",
          port: 0,
          identifier: "replica-1",
          connectionAgeMaxMs,
          streamsPerIdentityMax: 10_000,
          snapshotMaxBytes: 1_000_000,
        },
      );
      expect(vi.mocked(Server)).toHaveBeenLastCalledWith(
        expect.objectContaining({
          "grpc.keepalive_time_ms": 5000,
          "grpc.keepalive_timeout_ms": 5000,
          "grpc.max_connection_age_ms": ageMs,
          "grpc.max_connection_age_grace_ms": 5000,
          "grpc.max_receive_message_length": 1_048_576,
          "grpc.max_concurrent_streams": 100,
        }),
      );
    },
  );
});
