import { once } from "node:events";
import { connect } from "node:net";

import { Client, compressionAlgorithms, credentials } from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { askWithBytes, GOOD, openEngine, type OpenedEngine } from "../grpc-engine.suite.ts";
import { describeGrpcOverTls } from "../grpc-tls.suite.ts";
import { describeGrpcTransport } from "../grpc-transport.suite.ts";
import { describeGrpcOnUnixSocket } from "../grpc-unix-socket.suite.ts";
import { WEIR } from "./weir-engine.suite.ts";

describeGrpcTransport(WEIR);
describeGrpcOnUnixSocket(WEIR);
describeGrpcOverTls(WEIR);

describe("WeirTransport", () => {
  let opened: OpenedEngine;
  const clients: Client[] = [];

  beforeEach(async () => {
    opened = await openEngine(WEIR);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await opened.transport.stop();
  });

  function open(options: Record<string, number> = {}): Client {
    const client = new Client(opened.target, credentials.createInsecure(), {
      ...options,
      "grpc.use_local_subchannel_pool": 1,
    });
    clients.push(client);
    return client;
  }

  /** The values of all statistics of the HTTP/2 server that are not zero. */
  function counted(): Record<string, number> {
    const values: Record<string, number> = {};
    const note = (name: string, value: number): void => {
      if (name.startsWith("ratelimit.http2.") && value !== 0) values[name.replace("ratelimit.http2.", "")] = value;
    };
    const ignore = (): void => undefined;
    opened.store.walk({ counter: note, gauge: note, rule: ignore, timer: ignore }).toArray();
    return values;
  }

  it.each([
    ["field number 0", "0001", "a tag has an illegal field number"],
    ["a field that is cut off", "0a0541", "a field is longer than its message"],
    ["a domain as a number", "0805", "a field has another wire type than its own"],
    ["a domain that is not UTF-8", "0a01ff", "a string is not UTF-8"],
  ])("a request with %s is answered INTERNAL, and the next one is decided", async (_what, hex, reason) => {
    const client = open();
    expect(await askWithBytes(client, Buffer.from(hex, "hex"))).toBe(
      `INTERNAL: Error deserializing request: ${reason}`,
    );
    expect(await askWithBytes(client, GOOD)).toBe("OK");
    expect(opened.decider.calls).toHaveLength(1);
    expect(opened.statistics.method("ShouldRateLimit").totalRequests.value).toBe(1);
  });

  it("a compressed message is answered UNIMPLEMENTED", async () => {
    const client = open({ "grpc.default_compression_algorithm": compressionAlgorithms.gzip });
    expect(await askWithBytes(client, GOOD)).toMatch(/^UNIMPLEMENTED: .*gzip/);
  });

  it("explains to the operator that a client uses TLS where there is none", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", format: "json", write: (line) => void lines.push(line) });
    const { transport, target } = await openEngine(WEIR, {}, undefined, log);
    try {
      const client = new Client(target, credentials.createSsl(), { "grpc.ssl_target_name_override": "localhost" });
      clients.push(client);
      await askWithBytes(client, GOOD);
      const logged = lines.find((line) => line.includes("A client could not connect to gRPC")) ?? "";
      expect(logged).toContain("it speaks no HTTP/2 in plaintext; without GRPC_SERVER_USE_TLS=true");
      expect(logged).toMatch(/"peer":"127\.0\.0\.1:\d+"/);
    } finally {
      await transport.stop();
    }
  });

  it("what the server counts are statistics, also of clients that are no gRPC clients", async () => {
    expect(counted()).toEqual({});
    const client = open();
    for (let call = 0; call < 3; call++) await askWithBytes(client, GOOD);
    expect(counted()).toMatchObject({ connections: 1, open_connections: 1, calls: 3 });
    const [host, port] = opened.target.split(":");
    const socket = connect(Number(port), host);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = "";
    socket.on("data", (bytes: Buffer) => (answer += bytes.toString()));
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 505 /);
    expect(counted()).toMatchObject({ connections: 2, http1_refused: 1, calls: 3 });
    // Nothing is counted twice.
    expect(counted()).toMatchObject({ connections: 2, http1_refused: 1, calls: 3 });
  });
});
