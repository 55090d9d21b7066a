// Records what real clients send to the HTTP/2 server: grpc-js, nghttp2 (node:http2) and Envoy. Run
// by hand when a client is to be recorded anew: node --conditions=source e2e/src/fuzz/connection/record.ts
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { Http2Server } from "@weir/http2/server/http2-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

import { startEnvoy } from "@weir/harness/envoy/envoy";
import { Random } from "@weir/harness/processes/random";
import { FuzzedMethods, PATHS } from "./fuzzed-methods.ts";

/** Longest recording of one connection, in bytes: mutated ones are copied often. */
const CONNECTION_MAX_BYTES = 6000;

/** How often methods answer what waits, in milliseconds. */
const ANSWER_MS = 5;

const [ECHO, LATER, FAIL, LARGE, CHAT] = PATHS;
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** What each connection sent. */
let recorded: Buffer[][] = [];

const methods = new FuzzedMethods(new Random(1));
const turn = {
  atTurnEnd: (task: { runAtTurnEnd(): void }) => void setImmediate(() => task.runAtTurnEnd()),
  nowMs: Date.now,
  monotonicMs: () => performance.now(),
};
const server = new Http2Server({ methods: methods.methods, turn, random: Math.random });
const listener = createServer({ noDelay: true }, (socket) => {
  const chunks: Buffer[] = [];
  recorded.push(chunks);
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  socket.on("error", () => undefined); // A client may close as it likes.
  server.accept(socket);
});
const port = await listen(listener);
const answers = setInterval(() => methods.answerSome(), ANSWER_MS);

await record("grpc-js", callWithGrpcJs);
await record("nghttp2", callWithNghttp2);
await record("envoy", callWithEnvoy);
clearInterval(answers);
listener.close();
server.close();

/** Writes what the client sends: one connection per line, in base64. */
async function record(client: string, call: () => Promise<void>): Promise<void> {
  recorded = [];
  await call();
  const lines = recorded.map((chunks) => Buffer.concat(chunks).subarray(0, CONNECTION_MAX_BYTES).toString("base64"));
  writeFileSync(join(import.meta.dirname, "recordings", `${client}.base64`), `${lines.join("\n")}\n`);
  process.stdout.write(`${client}: ${lines.length} connections, ${lines.join("").length} characters\n`);
}

async function callWithGrpcJs(): Promise<void> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const unary = (path: string, deadlineMs: number, content = "hello"): Promise<unknown> => {
    const metadata = new Metadata();
    metadata.set("traceparent", TRACEPARENT);
    metadata.set("data-bin", Buffer.from([0, 1, 2]));
    const options = { deadline: Date.now() + deadlineMs };
    return new Promise((resolve) => {
      client.makeUnaryRequest(path, Buffer.from, Buffer.from, Buffer.from(content), metadata, options, resolve);
    });
  };
  await unary(ECHO, 5000);
  await Promise.all([ECHO, LATER, FAIL, LATER, LARGE, "/x.Y/Z"].map((path) => unary(path, 5000)));
  await unary(ECHO, 5000, "long ".repeat(400));
  await unary(LATER, 1);
  const chat = client.makeBidiStreamRequest(CHAT, Buffer.from, Buffer.from);
  chat.on("data", () => undefined);
  chat.on("error", () => undefined); // Cancelled below, or ended with any status.
  for (const message of ["one", "two", "three"]) chat.write(Buffer.from(message));
  await new Promise((resolve) => setTimeout(resolve, 50));
  chat.cancel();
  await unary(ECHO, 5000);
  client.close();
}

async function callWithNghttp2(): Promise<void> {
  const sessions = [
    connect(`http://127.0.0.1:${port}`),
    connect(`http://127.0.0.1:${port}`, {
      settings: { initialWindowSize: 100, headerTableSize: 0, enablePush: false },
    }),
  ];
  for (const session of sessions) {
    await callWithSession(session, ECHO);
    await Promise.all([ECHO, LATER, FAIL, LARGE, CHAT].map((path) => callWithSession(session, path)));
    await new Promise((resolve) => session.ping(resolve));
    session.settings({ initialWindowSize: 70_000, headerTableSize: 100 });
    await callWithSession(session, ECHO, { padding: "x".repeat(600), cookie: ["a=b", "c=d"] });
    const cancelled = session.request({ ":method": "POST", ":path": LATER, "content-type": "application/grpc" });
    cancelled.on("error", () => undefined);
    cancelled.write(Buffer.from([0, 0, 0]));
    await new Promise((resolve) => setTimeout(resolve, 20));
    cancelled.close(8);
    await new Promise((resolve) => setTimeout(resolve, 20));
    session.close();
    await once(session, "close");
  }
}

async function callWithSession(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string | string[]>> = {},
): Promise<void> {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    te: "trailers",
    "content-type": "application/grpc",
    traceparent: TRACEPARENT,
    ...headers,
  });
  stream.end(Buffer.from([0, 0, 0, 0, 5, ...Buffer.from("hello")]));
  stream.resume();
  await once(stream, "close");
}

async function callWithEnvoy(): Promise<void> {
  const folder = makeTemporaryFolder();
  const upstream = createHttpServer((_request, response) => response.end("fine"));
  const upstreamPort = await listen(upstream);
  const options = { folder: folder.path, domain: "fuzz", rateLimitPort: port, upstreamPort };
  const envoy = await startEnvoy(options);
  for (let call = 0; call < 12; call++) await fetch(`${envoy.url}/path-${call % 5}`, { headers: { "x-user": "ada" } });
  await Promise.all(Array.from({ length: 8 }, () => fetch(`${envoy.url}/x`, { headers: { "x-user": "bob" } })));
  await envoy.stop();
  upstream.close();
  folder.remove();
}

async function listen(listening: Server): Promise<number> {
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  return (listening.address() as AddressInfo).port;
}
