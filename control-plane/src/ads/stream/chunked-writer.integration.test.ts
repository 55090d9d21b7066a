// Tests of write-pieces.ts on a real gRPC server: that the HTTP/2 stream is where the installed
// grpc-js has it, and that clients read what was sent.
import { Client, credentials, Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";

import { chunkedWriter, http2StreamOf } from "./chunked-writer.ts";

const asIs = (bytes: Buffer): Buffer => bytes;

const METHOD = {
  path: "/test.Pieces/Send",
  requestStream: true,
  responseStream: true,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
} as const;

type Call = ServerDuplexStream<Buffer, Buffer>;

const running: (() => void)[] = [];

/** A server whose method is `serve`, and a client of it. */
async function start(serve: (call: Call) => void): Promise<Client> {
  const server = new Server();
  server.addService({ send: METHOD }, { send: serve });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  running.push(
    () => client.close(),
    () => server.forceShutdown(),
  );
  return client;
}

afterEach(() => {
  for (const stop of running.splice(0)) stop();
});

describe("chunkedWriter() on a server of grpc-js", () => {
  it("sends messages that share a piece, whole and in order, and then the status", async () => {
    const shared = Buffer.alloc(3_000_000, "s");
    const found: boolean[] = [];
    const client = await start((call) => {
      found.push(http2StreamOf(call) !== undefined);
      const send = chunkedWriter(call);
      send([shared, Buffer.from("one")], () => send([shared, Buffer.from("two")], () => undefined));
      call.on("data", () => call.end()); // The message that is under way goes first.
    });
    const messages: Buffer[] = [];
    const call = client.makeBidiStreamRequest(METHOD.path, asIs, asIs);
    const status = await new Promise<number>((resolve, reject) => {
      call.on("data", (message: Buffer) => {
        messages.push(message);
        if (messages.length === 1) call.write(Buffer.from("end"));
      });
      call.on("error", reject);
      call.on("status", ({ code }: { readonly code: number }) => resolve(code));
    });
    expect(messages.map((message) => [message.length, message.subarray(-4).toString()])).toEqual([
      [3_000_003, "sone"],
      [3_000_003, "stwo"],
    ]);
    expect([found, status]).toEqual([[true], 0]);
  });
});
