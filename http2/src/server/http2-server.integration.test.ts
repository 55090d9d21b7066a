// The server on real sockets, plaintext and TLS, with the clients of grpc-js and node:http2.
import { request as httpRequest } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";

import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { grpcMessage, openCall, lastData, PREFACE, settingsFrame } from "@weir/harness/http2/http2-frames";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";

import type { Http2Limits } from "../limits/limits.ts";
import { type TestProtection, TestServer } from "./test-server.suite.ts";

const PROTECTIONS: readonly TestProtection[] = ["plaintext", "TLS"];

/** Functions that close what a test has opened, in the order in which they are called. */
const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(protection: TestProtection, limits: Partial<Http2Limits> = {}): Promise<TestServer> {
  const server = await TestServer.start(protection, limits);
  open.push(() => server.stop());
  return server;
}

/** A grpc-js client that sends and receives bytes. */
class GrpcClient {
  readonly #client: Client;

  constructor({ port, caPem }: TestServer) {
    const channel = caPem === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(caPem));
    this.#client = new Client(`127.0.0.1:${port}`, channel, {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      "grpc.ssl_target_name_override": "localhost",
    });
    open.unshift(() => this.#client.close());
  }

  /** The answer, or the code and text of the error. */
  call(method: string, request: Buffer, metadata = new Metadata(), timeoutMs = 30_000): Promise<Buffer | string> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        `/test.Service/${method}`,
        same,
        same,
        request,
        metadata,
        { deadline: Date.now() + timeoutMs },
        (error: ServiceError | null, answer?: Buffer) =>
          resolve(error === null ? (answer ?? "no answer") : `${status[error.code]} ${error.details}`),
      );
    });
  }

  stream(method: "Chat" | "Watch"): ClientDuplexStream<Buffer, Buffer> {
    return this.#client.makeBidiStreamRequest(`/test.Service/${method}`, same, same);
  }
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function connectSession({ port, caPem }: TestServer): ClientHttp2Session {
  const session =
    caPem === undefined
      ? connectHttp2(`http://127.0.0.1:${port}`)
      : connectHttp2(`https://127.0.0.1:${port}`, { ca: caPem });
  session.on("error", () => {}); // Tests look at its streams.
  open.unshift(() => session.destroy());
  return session;
}

/** A request without gRPC's client: status, headers, body and trailers. */
function fetchRaw(session: ClientHttp2Session, headers: Readonly<Record<string, string>>, body?: Buffer) {
  return new Promise<{ headers: Record<string, unknown>; body: string; trailers: Record<string, unknown> }>(
    (resolve, reject) => {
      const stream = session.request(headers, { endStream: body === undefined });
      let received: Record<string, unknown> = {};
      let trailers: Record<string, unknown> = {};
      const chunks: Buffer[] = [];
      stream.on("response", (fields) => (received = fields));
      stream.on("trailers", (fields: Record<string, unknown>) => (trailers = fields));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("end", () => resolve({ headers: received, body: Buffer.concat(chunks).toString("latin1"), trailers }));
      if (body !== undefined) stream.end(body);
    },
  );
}

function connectSocket(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}); // Tests look at what was received.
  open.unshift(() => socket.destroy());
  return socket;
}

describe.each(PROTECTIONS)("grpc-js over %s", (protection) => {
  it("gets a text that ends with a space: a header value must not", async () => {
    const session = connectSession(await start(protection));
    const headers = { ":method": "POST", ":path": "//Method", "content-type": "application/grpc" };
    const answer = await fetchRaw(session, headers);
    expect(answer.headers).toMatchObject({ "grpc-status": "12", "grpc-message": "unknown service%20" });
  });

  it("gets answers of every size", async () => {
    const client = new GrpcClient(await start(protection));
    for (const size of [0, 1, 100, 16_379, 16_384, 65_536, 3_000_000]) {
      const request = Buffer.alloc(size, "weir");
      const answer = await client.call("Echo", request);
      expect(request.equals(answer as Buffer), `${size} bytes`).toBe(true);
    }
  });

  it("gets the answers of 2,000 calls at a time", async () => {
    const server = await start(protection);
    const client = new GrpcClient(server);
    const requests = Array.from({ length: 2000 }, (_, index) => Buffer.from(`request ${index}`));
    const answers = await Promise.all(requests.map((request) => client.call("Echo", request)));
    expect(answers.map(String)).toEqual(requests.map(String));
    expect(server.http2.counters).toMatchObject({ calls: 2000, streamsRefused: 0, streamErrors: 0 });
  });

  it("has its metadata read, also binary", async () => {
    const client = new GrpcClient(await start(protection));
    const metadata = new Metadata();
    metadata.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    metadata.add("x-many", "1");
    metadata.add("x-many", "2");
    metadata.set("x-bytes-bin", Buffer.from([0, 255, 7]));
    const headers = JSON.parse(String(await client.call("Headers", Buffer.alloc(0), metadata))) as object;
    expect(headers).toMatchObject({
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "x-many": "1, 2",
      "content-type": "application/grpc",
    });
    expect(headers).not.toHaveProperty(":path");
  });

  it("gets the errors of methods and of the server", async () => {
    const server = await start(protection, { messageMaxBytes: 100_000 });
    const client = new GrpcClient(server);
    const failing = client.call("Later", Buffer.alloc(0));
    await eventually("the call", () => expect(server.service.waiting).toHaveLength(1));
    server.service.waiting[0]?.fail(status.NOT_FOUND, "no such thing: 100 % — grün");
    expect(await failing).toBe("NOT_FOUND no such thing: 100 % — grün");
    expect(await client.call("Nope", Buffer.alloc(0))).toBe(
      "UNIMPLEMENTED unknown method Nope for service test.Service",
    );
    expect(await client.call("Echo", Buffer.alloc(100_001))).toBe(
      "RESOURCE_EXHAUSTED grpc: received message larger than max (100001 vs. 100000)",
    );
    expect(String(await client.call("Echo", Buffer.from("still there")))).toBe("still there");
  });

  it("gets DEADLINE_EXCEEDED, and the late answer is dropped", async () => {
    const server = await start(protection);
    const client = new GrpcClient(server);
    await client.call("Echo", Buffer.alloc(0)); // It is connected.
    expect(await client.call("Later", Buffer.alloc(0), new Metadata(), 300)).toMatch(/^DEADLINE_EXCEEDED/);
    const { counters } = server.http2;
    // Client and server both end the call; one of them is first.
    await eventually("the end", () => expect(counters.clientResets + counters.deadlinesExceeded).toBeGreaterThan(0));
    server.service.waiting[0]?.fail(status.NOT_FOUND, "late");
    expect(counters.lateAnswers).toBe(1);
    expect(server.http2.callsInFlight).toBe(0);
    expect(String(await client.call("Echo", Buffer.from("still there")))).toBe("still there");
  });

  it("streams in both directions", async () => {
    const chat = new GrpcClient(await start(protection)).stream("Watch");
    const received: string[] = [];
    const end = new Promise<{ code: number }>((resolve) => chat.on("status", resolve));
    for (let index = 0; index < 100; index++) {
      const answer = new Promise((resolve) => chat.once("data", resolve));
      chat.write(Buffer.from(`message ${index}`));
      received.push(String(await answer));
    }
    chat.end();
    expect((await end).code).toBe(status.OK);
    expect(received).toEqual(Array.from({ length: 100 }, (_, index) => `message ${index}`));
  });

  it("cancels a stream", async () => {
    const server = await start(protection);
    const chat = new GrpcClient(server).stream("Chat");
    chat.on("error", () => {}); // It is cancelled.
    chat.write(Buffer.from("a"));
    await eventually("its message", () => expect(server.service.events).toEqual(["message a"]));
    chat.cancel();
    await eventually("the method to be notified", () => expect(server.service.events).toContain("cancelled"));
    expect(server.http2.callsInFlight).toBe(0);
  });

  it("has its calls answered while the server drains, and connects anew", async () => {
    const server = await start(protection);
    const client = new GrpcClient(server);
    const answers = ["a", "b"].map((text) => client.call("Later", Buffer.from(text)));
    await eventually("the calls", () => expect(server.service.waiting).toHaveLength(2));
    const drained = server.http2.drain();
    for (const call of server.service.waiting) call.fail(status.ABORTED, "answered");
    expect(await Promise.all(answers)).toEqual(["ABORTED answered", "ABORTED answered"]);
    await drained;
    expect(server.http2.counters.openConnections).toBe(0);
  });

  it("connects anew when its connection has reached its age", async () => {
    const server = await start(protection, { connectionAgeMs: 1000 });
    const client = new GrpcClient(server);
    await eventually("a second connection", async () => {
      expect(String(await client.call("Echo", Buffer.from("hello")))).toBe("hello");
      expect(server.http2.counters.connections).toBeGreaterThan(1);
    });
    expect(server.http2.counters.ageCloses).toBeGreaterThan(0);
  });
});

describe.each(PROTECTIONS)("node:http2 over %s", (protection) => {
  it("gets headers, message and trailers", async () => {
    const session = connectSession(await start(protection));
    const request = { ":method": "POST", ":path": "/test.Service/Echo", "content-type": "application/grpc" };
    for (let call = 0; call < 3; call++) {
      const { headers, body, trailers } = await fetchRaw(session, request, grpcMessage("hello"));
      expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc" });
      expect(body).toBe("\0\0\0\0\x05hello");
      expect(trailers).toMatchObject({ "grpc-status": "0" });
    }
  });

  it("gets an HTTP status and a text for what is not gRPC", async () => {
    const session = connectSession(await start(protection));
    const { headers, body } = await fetchRaw(session, { ":method": "GET", ":path": "/" });
    expect(headers).toMatchObject({ ":status": 415, "content-type": "text/plain; charset=utf-8" });
    expect(body).toBe("This port serves gRPC: content-type application/grpc\n");
    const get = { ":method": "GET", ":path": "/test.Service/Echo", "content-type": "application/grpc" };
    expect((await fetchRaw(session, get)).headers).toMatchObject({ ":status": 405 });
  });

  it("gets an answer to an upload that is not gRPC, and is asked to stop", async () => {
    const session = connectSession(await start(protection));
    const { headers } = await fetchRaw(session, { ":method": "POST", ":path": "/upload" }, Buffer.alloc(1_000_000));
    expect(headers).toMatchObject({ ":status": 415 });
  });

  it("keeps the connection when SETTINGS change under load", async () => {
    const session = connectSession(await start(protection));
    const request = { ":method": "POST", ":path": "/test.Service/Echo", "content-type": "application/grpc" };
    for (const initialWindowSize of [0, 1, 100, 1_000_000]) {
      const answers = Array.from({ length: 20 }, () => fetchRaw(session, request, grpcMessage("x".repeat(5000))));
      session.settings({ initialWindowSize, headerTableSize: initialWindowSize % 4096 });
      session.settings({ initialWindowSize: 65_535 });
      for (const { body } of await Promise.all(answers)) expect(body).toHaveLength(5005);
    }
  });

  it("gets its PING acknowledged, and GOAWAY from a server that drains", async () => {
    const server = await start(protection);
    const session = connectSession(server);
    await new Promise((resolve) => session.once("connect", resolve));
    await new Promise((resolve, reject) =>
      session.ping((error) => (error === null ? resolve(undefined) : reject(error))),
    );
    const goaway = new Promise((resolve) => session.on("goaway", resolve));
    const closed = new Promise((resolve) => session.on("close", resolve));
    await server.http2.drain();
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    await closed;
  });
});

describe("the server", () => {
  it("refuses HTTP/1 in words", async () => {
    const server = await start("plaintext");
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const request = httpRequest({ port: server.port, host: "127.0.0.1", path: "/healthcheck" }, (response) => {
      let text = `${response.statusCode} `;
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve(text));
    });
    request.on("error", reject);
    request.end();
    expect(await promise).toBe("505 This port speaks HTTP/2 (gRPC), not HTTP/1.\n");
    expect(server.refused).toEqual(["http1"]);
  });

  it("serves others while a client does not read its answers, and that client when it does", async () => {
    const server = await start("plaintext", { unsentMaxBytes: 100_000 });
    const slow = connectSocket(server.port);
    const answers = 3000;
    const body = grpcMessage("x".repeat(10_000)); // More than the system takes in its buffers.
    slow.write(Buffer.concat([PREFACE, settingsFrame([4, 1_000_000])]));
    slow.pause();
    const window = Buffer.from("00000408000000000010000000", "hex");
    slow.write(window);
    for (let id = 1; id < 2 * answers; id += 2) slow.write(Buffer.concat([openCall(id, "Echo"), lastData(id, body)]));
    await eventually("reading to be paused", () => expect(server.http2.counters.readPauses).toBeGreaterThan(0));
    expect(server.http2.heldBytes).toBeLessThan(1_000_000);
    const other = new GrpcClient(server);
    expect(String(await other.call("Echo", Buffer.from("me too")))).toBe("me too");
    let received = 0;
    slow.on("data", (chunk: Buffer) => (received += chunk.length));
    slow.resume();
    await eventually("all answers", () => expect(received).toBeGreaterThan(answers * 10_005));
    await eventually("the memory to be free", () => expect(server.http2.heldBytes).toBe(0));
  });

  it("forgets the calls of a client that is gone", async () => {
    const server = await start("plaintext");
    const socket = connectSocket(server.port);
    socket.write(Buffer.concat([PREFACE, settingsFrame(), openCall(1, "Watch"), openCall(3, "Later")]));
    socket.write(lastData(3, grpcMessage("a")));
    await eventually("the calls", () => expect(server.http2.callsInFlight).toBe(2));
    socket.resetAndDestroy();
    await eventually("the end", () => expect(server.http2.counters.openConnections).toBe(0));
    expect(server.service.events).toEqual(["cancelled"]);
    server.service.waiting[0]?.fail(status.ABORTED, "late");
    expect(server.http2.counters.lateAnswers).toBe(1);
  });

  it("closes a socket whose client breaks the rules", async () => {
    const server = await start("plaintext");
    const socket = connectSocket(server.port);
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write(Buffer.concat([PREFACE, openCall(1, "Echo")]));
    await closed;
    expect(Buffer.concat(received).toString("latin1")).toContain("The first frame is not SETTINGS");
  });
});
