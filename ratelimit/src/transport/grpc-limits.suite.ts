// Limits of what gRPC clients send, for every gRPC engine: a client beyond one is refused, and the others
// do not notice.
import { connect as http2Connect, constants, type IncomingHttpHeaders } from "node:http2";

import { create, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, describe, expect, it } from "vitest";

import { type GrpcEngine, openEngine } from "./grpc-engine.suite.ts";
import { PLAIN_REQUEST } from "./transport.suite.ts";
import type { Transport } from "./transport.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const REQUEST = create(RateLimitRequestSchema, PLAIN_REQUEST);
/** A request that is decided. */
export const GOOD = Buffer.from(toBinary(RateLimitRequestSchema, REQUEST));

/** The code and the text of the answer; bytes are sent as the message. */
export function askWithBytes(client: Client, bytes: Buffer, metadata = new Metadata()): Promise<string> {
  const { path, responseDeserialize } = shouldRateLimit;
  const options = { deadline: Date.now() + 30_000 };
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      (message: Buffer) => message,
      responseDeserialize,
      bytes,
      metadata,
      options,
      (error) => resolve(error === null ? "OK" : `${status[error.code]}: ${error.details}`),
    );
  });
}

/** Runs the suite. */
export function describeGrpcLimits(engine: GrpcEngine): void {
  describe(`the engine ${engine.name} and too much`, () => {
    let transport: Transport | undefined;
    const closers: (() => void)[] = [];

    afterEach(async () => {
      for (const close of closers.splice(0)) close();
      await transport?.stop();
      transport = undefined;
    });

    async function start(): Promise<string> {
      const opened = await openEngine(engine);
      transport = opened.transport;
      return opened.target;
    }

    function plainClient(target: string): Client {
      const client = new Client(target, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
      closers.push(() => client.close());
      return client;
    }

    it("a message over 4 MiB is refused with its size, one below is decided, and other calls on the same connection continue", async () => {
      const client = plainClient(await start());
      // An unknown field is skipped.
      const padded = (length: number): Buffer => {
        const field = Buffer.alloc(length - GOOD.length);
        field[0] = 0x7a; // Number 15, bytes.
        let rest = field.length - 5;
        for (let at = 1; at < 5; at++) {
          field[at] = (rest & 0x7f) | (at < 4 ? 0x80 : 0);
          rest >>>= 7;
        }
        return Buffer.concat([GOOD, field]);
      };
      const answers = await Promise.all([
        askWithBytes(client, padded(4 * 1024 * 1024 + 1)),
        askWithBytes(client, GOOD),
        askWithBytes(client, padded(4 * 1024 * 1024)),
        askWithBytes(client, GOOD),
      ]);
      expect(answers).toEqual([
        expect.stringMatching(
          /^RESOURCE_EXHAUSTED: (grpc: r|R)eceived message larger than max \(4194305 vs\.? 4194304\)$/,
        ),
        "OK",
        "OK",
        "OK",
      ]);
    });

    it("a header over its limit is refused, and other clients continue", async () => {
      const target = await start();
      const [greedy, other] = [plainClient(target), plainClient(target)];
      expect(await askWithBytes(other, GOOD)).toBe("OK");
      const metadata = new Metadata();
      for (let index = 0; index < 20; index++) metadata.set(`x-${index}`, "y".repeat(10_000));
      expect(await askWithBytes(greedy, GOOD, metadata)).not.toBe("OK");
      expect(await askWithBytes(other, GOOD)).toBe("OK");
      expect(await askWithBytes(plainClient(target), GOOD)).toBe("OK");
    });

    it.each([
      ["another path", { ":path": "/x.Y/Z" }, "12"],
      ["no gRPC content", { "content-type": "text/plain" }, undefined],
    ])("%s gets a status that says so", async (_what, headers, grpcStatus) => {
      const session = http2Connect(`http://${await start()}`);
      closers.push(() => session.destroy());
      const stream = session.request({
        ":method": "POST",
        ":path": shouldRateLimit.path,
        "content-type": "application/grpc",
        te: "trailers",
        ...headers,
      });
      const answer = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
        stream.on("response", resolve);
        stream.on("error", reject);
        stream.end();
      });
      if (grpcStatus === undefined) expect(answer[constants.HTTP2_HEADER_STATUS]).toBe(415);
      else expect(answer["grpc-status"]).toBe(grpcStatus);
    });
  });
}
