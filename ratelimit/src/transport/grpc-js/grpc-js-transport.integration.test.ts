import { Client, compressionAlgorithms, credentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";

import { askWithBytes, GOOD, type GrpcEngine, openEngine, type OpenedEngine } from "../grpc-engine.suite.ts";
import { describeGrpcOverTls } from "../grpc-tls.suite.ts";
import { describeGrpcTransport } from "../grpc-transport.suite.ts";
import { describeGrpcOnUnixSocket } from "../grpc-unix-socket.suite.ts";
import { GrpcJsTransport } from "./grpc-js-transport.ts";

const ENGINE: GrpcEngine = { name: "grpc-js", create: (deps, options) => new GrpcJsTransport(deps, options) };

describeGrpcTransport(ENGINE);
describeGrpcOnUnixSocket(ENGINE);
describeGrpcOverTls(ENGINE);

describe("GrpcJsTransport and compression", () => {
  let opened: OpenedEngine | undefined;
  let client: Client | undefined;

  afterEach(async () => {
    client?.close();
    await opened?.transport.stop();
  });

  it("a compressed message is decided, and refused when it grows beyond 4 MiB", async () => {
    opened = await openEngine(ENGINE);
    client = new Client(opened.target, credentials.createInsecure(), {
      "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
      "grpc.use_local_subchannel_pool": 1,
    });
    expect(await askWithBytes(client, GOOD)).toBe("OK");
    expect(await askWithBytes(client, Buffer.alloc(64 * 1024 * 1024))).toMatch(/^RESOURCE_EXHAUSTED: /);
    expect(await askWithBytes(client, GOOD)).toBe("OK");
  });
});
