// What gRPC clients send too much of, and certificates that are nearly right: each is refused, and
// the others never notice.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as http2Connect, constants, type IncomingHttpHeaders } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";

import { create, toBinary } from "@bufbuild/protobuf";
import { Client, compressionAlgorithms, credentials, Metadata, status } from "@grpc/grpc-js";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, describe, expect, it } from "vitest";

import { Health } from "../../health/health.ts";
import { ServiceStatistics } from "../../statistics/service-statistics.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { Transport } from "../transport.ts";
import { NO_TRACING, PLAIN_REQUEST, ScriptedDecider } from "../transport.suite.ts";
import { GrpcJsTransport, type GrpcTransportOptions } from "./grpc-js-transport.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const REQUEST = create(RateLimitRequestSchema, PLAIN_REQUEST);

let transport: Transport;
let files: TlsFiles | undefined;
const closers: (() => void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await transport.stop();
  files?.stop();
  files = undefined;
});

async function start(tls?: GrpcTransportOptions["tls"]): Promise<string> {
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const statistics = new ServiceStatistics(new StatisticsStore({ maxDynamicKeys: 10 }));
  const deps = {
    decider: new ScriptedDecider(),
    tracing: NO_TRACING,
    health,
    statistics,
    nowMs: () => performance.now(),
    log: silentLog(),
  };
  const address = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  transport = new GrpcJsTransport(deps, { address, tls, connectionAgeMaxMs: 0, connectionAgeGraceMs: 0 });
  await transport.start();
  return transport.address() ?? "";
}

function plainClient(target: string): Client {
  const client = new Client(target, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  closers.push(() => client.close());
  return client;
}

/** The code and the text of the answer; bytes are sent as the message. */
function ask(client: Client, bytes: Buffer, metadata = new Metadata()): Promise<string> {
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

const GOOD = Buffer.from(toBinary(RateLimitRequestSchema, REQUEST));

describe("the gRPC listener and too much", () => {
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
      ask(client, padded(4 * 1024 * 1024 + 1)),
      ask(client, GOOD),
      ask(client, padded(4 * 1024 * 1024)),
      ask(client, GOOD),
    ]);
    expect(answers).toEqual([
      "RESOURCE_EXHAUSTED: Received message larger than max (4194305 vs 4194304)",
      "OK",
      "OK",
      "OK",
    ]);
  });

  it("a header over its limit is refused, and other clients continue", async () => {
    const target = await start();
    const [greedy, other] = [plainClient(target), plainClient(target)];
    expect(await ask(other, GOOD)).toBe("OK");
    const metadata = new Metadata();
    for (let index = 0; index < 20; index++) metadata.set(`x-${index}`, "y".repeat(10_000));
    expect(await ask(greedy, GOOD, metadata)).not.toBe("OK");
    expect(await ask(other, GOOD)).toBe("OK");
    expect(await ask(plainClient(target), GOOD)).toBe("OK");
  });

  it("a compressed message that grows beyond 4 MiB is refused", async () => {
    const target = await start();
    const client = new Client(target, credentials.createInsecure(), {
      "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
      "grpc.use_local_subchannel_pool": 1,
    });
    closers.push(() => client.close());
    expect(await ask(client, GOOD)).toBe("OK");
    expect(await ask(client, Buffer.alloc(64 * 1024 * 1024))).toMatch(/^RESOURCE_EXHAUSTED: /);
    expect(await ask(client, GOOD)).toBe("OK");
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

describe("the gRPC listener and certificates of clients", () => {
  const now = new Date();
  let folder: string;
  let authority: Authority;

  async function startSecure(clientName: string | undefined): Promise<string> {
    folder = await mkdtemp(join(tmpdir(), "weir-grpc-limits-"));
    closers.push(() => void rm(folder, { recursive: true, force: true }));
    authority = await createAuthority({ commonName: "first", now, validDays: 1 });
    const pair = await authority.issue({
      commonName: "server",
      dnsNames: ["localhost"],
      usage: "server",
      now,
      validDays: 1,
    });
    await Promise.all([
      writeFile(join(folder, "cert.pem"), pair.certPem),
      writeFile(join(folder, "key.pem"), pair.keyPem),
      writeFile(join(folder, "ca.pem"), authority.certPem),
    ]);
    const paths = {
      certPath: join(folder, "cert.pem"),
      keyPath: join(folder, "key.pem"),
      caPath: join(folder, "ca.pem"),
    };
    files = new TlsFiles(paths, { log: silentLog() }, { pollIntervalMs: 50 });
    files.start();
    return start({ files, clientName });
  }

  async function askAs(
    target: string,
    names: { readonly commonName: string; readonly dnsNames?: readonly string[]; readonly uris?: readonly string[] },
  ): Promise<string> {
    const pair = await authority.issue({ ...names, usage: "client", now, validDays: 1 });
    const channel = credentials.createSsl(
      Buffer.from(authority.certPem),
      Buffer.from(pair.keyPem),
      Buffer.from(pair.certPem),
    );
    const client = new Client(target, channel, {
      "grpc.ssl_target_name_override": "localhost",
      "grpc.use_local_subchannel_pool": 1,
    });
    closers.push(() => client.close());
    return (await ask(client, GOOD)).split(":")[0] ?? "";
  }

  it.each([
    ["the name itself", { commonName: "x", dnsNames: ["envoy.weir.example"] }, "OK"],
    ["a wildcard over it", { commonName: "x", dnsNames: ["*.weir.example"] }, "OK"],
    ["only a common name", { commonName: "envoy.weir.example" }, "UNAVAILABLE"],
    ["a common name, and a URI", { commonName: "envoy.weir.example", uris: ["spiffe://weir/envoy"] }, "UNAVAILABLE"],
    ["a longer name", { commonName: "x", dnsNames: ["envoy.weir.example.org"] }, "UNAVAILABLE"],
  ])("GRPC_CLIENT_TLS_SAN and a certificate with %s (case 202)", async (_what, names, answer) => {
    expect(await askAs(await startSecure("envoy.weir.example"), names)).toBe(answer);
  });

  it("a client of the old authority is refused once the authority was replaced, also when it resumes its session (case 201)", async () => {
    const target = await startSecure(undefined);
    const [host = "", port = ""] = target.split(":");
    const old = await authority.issue({
      commonName: "x",
      dnsNames: ["envoy.weir.example"],
      usage: "client",
      now,
      validDays: 1,
    });
    const options = {
      host,
      port: Number(port),
      ca: authority.certPem,
      cert: old.certPem,
      key: old.keyPem,
      servername: "localhost",
      ALPNProtocols: ["h2"],
    };
    /** Whether the server lets the client in: then it sends its settings. */
    const isLetIn = (session?: Buffer): Promise<{ isIn: boolean; isResumed: boolean; session: Buffer | undefined }> =>
      new Promise((resolve) => {
        let ticket: Buffer | undefined;
        const socket = tlsConnect({ ...options, ...(session !== undefined && { session }) });
        const end = (isIn: boolean): void => {
          resolve({ isIn, isResumed: socket.isSessionReused(), session: ticket });
          socket.destroy();
        };
        let hasAnswer = false;
        const endWithTicket = (): void => {
          if (hasAnswer && (ticket !== undefined || session !== undefined)) end(true);
        };
        socket.on("session", (bytes: Buffer) => {
          ticket = bytes;
          endWithTicket();
        });
        socket.on("secureConnect", () =>
          socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1"),
        );
        socket.on("data", () => {
          hasAnswer = true;
          endWithTicket();
        });
        socket.on("error", () => end(false));
        socket.on("close", () => end(false));
      });
    const first = await isLetIn();
    expect(first.isIn).toBe(true);
    expect(await isLetIn(first.session)).toMatchObject({ isIn: true, isResumed: true });
    const next = await createAuthority({ commonName: "second", now, validDays: 1 });
    await writeFile(join(folder, "ca.pem"), next.certPem);
    await expect.poll(() => isLetIn(first.session).then(({ isIn }) => isIn), { timeout: 30_000 }).toBe(false);
    expect((await isLetIn()).isIn).toBe(false);
  });
});
