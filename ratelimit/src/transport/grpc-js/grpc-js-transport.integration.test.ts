import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";

import { create } from "@bufbuild/protobuf";
import {
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError as GrpcError,
  status,
} from "@grpc/grpc-js";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import {
  Health as HealthProto,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthListRequestSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Health } from "../../health/health.ts";
import { ServiceStatistics } from "../../statistics/service-statistics.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { GrpcStatusName } from "../grpc-status.ts";
import type { Transport } from "../transport.ts";
import {
  type ClientRequest,
  describeTransport,
  NO_TRACING,
  PLAIN_OK,
  PLAIN_REQUEST,
  ScriptedDecider,
  type TransportAnswer,
} from "../transport.suite.ts";
import { GrpcJsTransport, type GrpcTransportOptions } from "./grpc-js-transport.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const { check: checkMethod, list: listMethod, watch: watchMethod } = serviceDefinition(HealthProto);

const HOUR_MS = 3_600_000;

/** Longest wait for something to happen, in milliseconds. */
const WAIT = { timeout: 30_000 };

const OPTIONS: GrpcTransportOptions = {
  address: { kind: "tcp", host: "127.0.0.1", port: 0 },
  tls: undefined,
  connectionAgeMaxMs: HOUR_MS,
  connectionAgeGraceMs: HOUR_MS,
};

interface Opened {
  readonly transport: Transport;
  readonly health: Health;
  readonly statistics: ServiceStatistics;
  readonly decider: ScriptedDecider;
  readonly target: string;
}

async function open(options: Partial<GrpcTransportOptions> = {}, decider = new ScriptedDecider()): Promise<Opened> {
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const statistics = new ServiceStatistics(new StatisticsStore({ maxDynamicKeys: 10 }));
  const deps = { decider, tracing: NO_TRACING, health, statistics, nowMs: () => performance.now(), log: silentLog() };
  const transport = new GrpcJsTransport(deps, { ...OPTIONS, ...options });
  await transport.start();
  return { transport, health, statistics, decider, target: transport.address() ?? "" };
}

function ask(client: Client, request: ClientRequest, timeoutMs = 30_000): Promise<TransportAnswer> {
  const message = create(RateLimitRequestSchema, request);
  const { path, requestSerialize, responseDeserialize } = shouldRateLimit;
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + timeoutMs };
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      new Metadata(),
      options,
      (error, response) => {
        if (error !== null) resolve(refusalOf(error));
        else resolve(response === undefined ? { kind: "broken" } : { kind: "decision", response });
      },
    );
  });
}

function refusalOf(error: GrpcError): TransportAnswer {
  return { kind: "refused", status: status[error.code] as GrpcStatusName, message: error.details };
}

function check(client: Client, service: string): Promise<number | string> {
  const { path, requestSerialize, responseDeserialize } = checkMethod;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      create(HealthCheckRequestSchema, { service }),
      (error, response) => {
        resolve(error === null ? (response?.status ?? "nothing") : `${status[error.code]}: ${error.details}`);
      },
    );
  });
}

describeTransport("grpc-js", async (decider) => {
  const { transport, target } = await open({}, decider as ScriptedDecider);
  const client = new Client(target, credentials.createInsecure());
  return { transport, ask: (request) => ask(client, request), close: () => client.close() };
});

describe("GrpcJsTransport", () => {
  const clients: Client[] = [];
  let transport: Transport | undefined;

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await transport?.stop();
    transport = undefined;
  });

  async function start(options: Partial<GrpcTransportOptions> = {}): Promise<Opened & { client: Client }> {
    const opened = await open(options);
    transport = opened.transport;
    return { ...opened, client: connect(opened.target) };
  }

  function connect(target: string, channel: ChannelCredentials = credentials.createInsecure()): Client {
    const client = new Client(target, channel, { "grpc.use_local_subchannel_pool": 1 });
    clients.push(client);
    return client;
  }

  it("ShouldRateLimit is counted with its response time (case 179)", async () => {
    const { client, statistics } = await start();
    for (let call = 0; call < 5; call++) await ask(client, PLAIN_REQUEST);
    const method = statistics.method("ShouldRateLimit");
    expect([method.totalRequests.value, method.responseTime.count]).toEqual([5, 5]);
  });

  it("a call passes the caller's deadline to the decider, and is answered when it passes (case 118)", async () => {
    const { client, decider } = await start();
    await ask(client, PLAIN_REQUEST); // The connection is open now: opening it is no part of the time.
    decider.answer = undefined;
    const beforeMs = Date.now();
    const answer = await ask(client, PLAIN_REQUEST, 2000);
    expect(answer).toMatchObject({ kind: "refused", status: "DEADLINE_EXCEEDED" });
    expect(Date.now() - beforeMs).toBeGreaterThanOrEqual(1950);
    const deadlineMs = decider.calls[1]?.call.deadlineMs ?? 0;
    expect(deadlineMs - beforeMs).toBeGreaterThan(1500);
    expect(deadlineMs - beforeMs).toBeLessThan(10_000);
    // The backend answers late; the caller has gone.
    decider.calls[1]?.call.decided(PLAIN_OK);
    decider.answer = PLAIN_OK;
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("a caller without a deadline has none", async () => {
    const { client, decider } = await start();
    const { path, requestSerialize, responseDeserialize } = shouldRateLimit;
    await new Promise((resolve) => {
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(RateLimitRequestSchema, PLAIN_REQUEST),
        resolve,
      );
    });
    expect(decider.calls[0]?.call.deadlineMs).toBeUndefined();
  });

  it("bytes that are no request are refused, and a message above 4 MiB too", async () => {
    const { client, decider } = await start();
    const send = (bytes: Buffer): Promise<number | undefined> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(
          shouldRateLimit.path,
          (message: Buffer) => message,
          shouldRateLimit.responseDeserialize,
          bytes,
          (error) => resolve(error?.code),
        );
      });
    expect(await send(Buffer.from([0x0a, 0x05, 0x41]))).toBe(status.INTERNAL);
    expect(await send(Buffer.alloc(4 * 1024 * 1024 + 1))).toBe(status.RESOURCE_EXHAUSTED);
    expect(decider.calls).toHaveLength(0);
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("Check follows the health of the process under each of its names (case 175)", async () => {
    const { client, health, statistics } = await start();
    expect(await check(client, "ratelimit")).toBe(2);
    health.set("start", true);
    expect(await check(client, "ratelimit")).toBe(1);
    expect(await check(client, "")).toBe(1);
    expect(await check(client, "envoy.service.ratelimit.v3.RateLimitService")).toBe(1);
    expect(await check(client, "x")).toBe("NOT_FOUND: unknown service");
    health.set("signal", false);
    expect(await check(client, "")).toBe(2);
    expect(statistics.method("Check").totalRequests.value).toBe(6);
  });

  it("List returns the health of the process under each of its names", async () => {
    const { client, health, statistics } = await start();
    health.set("start", true);
    const { path, requestSerialize, responseDeserialize } = listMethod;
    const answer = await new Promise((resolve) => {
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(HealthListRequestSchema),
        (error, response) => resolve(error ?? response?.statuses),
      );
    });
    expect(answer).toMatchObject({
      "": { status: 1 },
      ratelimit: { status: 1 },
      "envoy.service.ratelimit.v3.RateLimitService": { status: 1 },
    });
    expect(statistics.method("List").totalRequests.value).toBe(1);
  });

  it("a connection without a limit of age stays", async () => {
    const { client } = await start({ connectionAgeMaxMs: 0, connectionAgeGraceMs: 0 });
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
    expect(client.getChannel().getConnectivityState(false)).toBe(connectivityState.READY);
  });

  it("Watch sends each change, SERVICE_UNKNOWN for other names, and ends when the server drains", async () => {
    const { client, health, transport: opened } = await start();
    const watch = (
      service: string,
    ): { seen: number[]; ended: Promise<number>; stream: ClientReadableStream<HealthCheckResponse> } => {
      const { path, requestSerialize, responseDeserialize } = watchMethod;
      const stream = client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(HealthCheckRequestSchema, { service }),
      );
      const seen: number[] = [];
      stream.on("data", (response: HealthCheckResponse) => seen.push(response.status));
      return {
        seen,
        stream,
        ended: new Promise((resolve) => stream.on("error", (error: GrpcError) => resolve(error.code))),
      };
    };
    const known = watch("ratelimit");
    const unknown = watch("x");
    await expect.poll(() => [known.seen, unknown.seen], WAIT).toEqual([[2], [3]]);
    health.set("start", true);
    health.set("signal", false);
    await expect.poll(() => known.seen, WAIT).toEqual([2, 1, 2]);
    await opened.drain();
    expect(await known.ended).toBe(status.UNAVAILABLE);
    expect(await unknown.ended).toBe(status.UNAVAILABLE);
    expect(unknown.seen).toEqual([3]);
  });

  it("a connection gets GOAWAY at its maximum age, and calls continue over a new one", async () => {
    const { client } = await start({ connectionAgeMaxMs: 50, connectionAgeGraceMs: HOUR_MS });
    const deadlineMs = performance.now() + 400;
    while (performance.now() < deadlineMs) expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("start() names the setting that moves it when the port is in use", async () => {
    const { target } = await start();
    const port = Number(target.split(":")[1]);
    await expect(open({ address: { kind: "tcp", host: "127.0.0.1", port } })).rejects.toThrow(
      `Cannot listen for gRPC on 127.0.0.1:${port}: the port is in use; set GRPC_PORT to another one`,
    );
  });
});

describe("GrpcJsTransport on a unix socket", () => {
  let folder: string;
  let path: string;
  const opened: Opened[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-uds-"));
    path = join(folder, "ratelimit.sock");
  });

  afterEach(async () => {
    for (const { transport } of opened.splice(0)) await transport.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(): Promise<Opened> {
    const started = await open({ address: { kind: "unix", path } });
    opened.push(started);
    return started;
  }

  it("answers there and removes the socket at the end", async () => {
    const { target, transport } = await start();
    expect(target).toBe(`unix:${path}`);
    const client = new Client(target, credentials.createInsecure());
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
    client.close();
    await transport.stop();
    expect(existsSync(path)).toBe(false);
  });

  it("replaces a socket without a listener", async () => {
    // Renamed while open, so that closing does not remove it: what a killed process leaves behind.
    const killed = createServer();
    await new Promise<void>((resolve) => killed.listen(`${path}.old`, resolve));
    await rename(`${path}.old`, path);
    await new Promise((resolve) => killed.close(resolve));
    const { target } = await start();
    const client = new Client(target, credentials.createInsecure());
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
    client.close();
  });

  it("refuses a path with a listener, or of another file", async () => {
    await start();
    await expect(start()).rejects.toThrow(
      `Cannot listen for gRPC on ${path}: something listens there, or it is no socket; set GRPC_UDS to another path`,
    );
    path = join(folder, "file");
    await writeFile(path, "text");
    await expect(start()).rejects.toThrow(`Cannot listen for gRPC on ${path}`);
    expect(existsSync(path)).toBe(true);
  });

  it.each([
    ["in a folder that does not exist", "nowhere/weir.sock", "EACCES"],
    ["that is too long", "x".repeat(120), "EINVAL"],
  ])("refuses a path %s in words about paths", async (_case, name, code) => {
    path = join(folder, name);
    await expect(start()).rejects.toThrow(
      new RegExp(
        `^Cannot listen for gRPC on [^ ]*: listen ${code}: .*; GRPC_UDS must be a path of at most 107 bytes in a folder that exists and may be written$`,
      ),
    );
  });
});

describe("GrpcJsTransport over TLS", () => {
  let folder: string;
  let authority: Authority;
  let files: TlsFiles | undefined;
  let opened: Opened | undefined;
  const clients: Client[] = [];
  const now = new Date();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-grpc-tls-"));
    authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    await writeServerPair("first.example");
    await writeFile(join(folder, "ca.pem"), authority.certPem);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await opened?.transport.stop();
    files?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function writeServerPair(name: string): Promise<void> {
    const pair = await authority.issue({
      commonName: name,
      dnsNames: [name, "localhost"],
      usage: "server",
      now,
      validDays: 1,
    });
    await writeFile(join(folder, "key.next"), pair.keyPem);
    await writeFile(join(folder, "cert.next"), pair.certPem);
    await rename(join(folder, "key.next"), join(folder, "key.pem"));
    await rename(join(folder, "cert.next"), join(folder, "cert.pem"));
  }

  async function start(options: {
    withClients: boolean;
    clientName?: string;
    handshakeTimeoutMs?: number;
  }): Promise<Opened> {
    const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
    files = new TlsFiles(
      options.withClients ? { ...paths, caPath: join(folder, "ca.pem") } : paths,
      { log: silentLog() },
      { pollIntervalMs: 50 },
    );
    files.start();
    const { handshakeTimeoutMs } = options;
    opened = await open({
      tls: { files, clientName: options.clientName, ...(handshakeTimeoutMs !== undefined && { handshakeTimeoutMs }) },
    });
    return opened;
  }

  it("closes a connection whose handshake does not come (half-open connections)", async () => {
    const { target } = await start({ withClients: false, handshakeTimeoutMs: 50 });
    const socket = connect(Number(new URL(`tcp://${target}`).port), "127.0.0.1");
    socket.resume();
    await once(socket, "close");
    expect(socket.bytesRead).toBe(0);
  });

  async function clientWith(dnsName: string | undefined): Promise<Client> {
    const ca = Buffer.from(authority.certPem);
    const pair =
      dnsName === undefined
        ? undefined
        : await authority.issue({ commonName: "client", dnsNames: [dnsName], usage: "client", now, validDays: 1 });
    const channel =
      pair === undefined
        ? credentials.createSsl(ca)
        : credentials.createSsl(ca, Buffer.from(pair.keyPem), Buffer.from(pair.certPem));
    const options = { "grpc.ssl_target_name_override": "localhost", "grpc.use_local_subchannel_pool": 1 };
    const client = new Client(opened?.target ?? "", channel, options);
    clients.push(client);
    return client;
  }

  /** The name in the certificate that a new handshake shows. */
  function shownName(target: string): Promise<string> {
    const [host = "", port = ""] = target.split(":");
    return new Promise((resolve, reject) => {
      const socket = tlsConnect(
        { host, port: Number(port), ca: authority.certPem, servername: "localhost", ALPNProtocols: ["h2"] },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      );
      socket.on("error", reject);
    });
  }

  it("answers clients that trust its authority", async () => {
    await start({ withClients: false });
    expect((await ask(await clientWith(undefined), PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("shows the new certificate once the files were replaced by rename, while old connections stay (case 201)", async () => {
    const { target } = await start({ withClients: false });
    const client = await clientWith(undefined);
    await ask(client, PLAIN_REQUEST);
    expect(await shownName(target)).toBe("first.example");
    await writeServerPair("second.example");
    await expect.poll(() => shownName(target), WAIT).toBe("second.example");
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("asks clients for a certificate of the authority, and for the name where one is set (case 202)", async () => {
    await start({ withClients: true, clientName: "envoy.example" });
    expect((await ask(await clientWith("envoy.example"), PLAIN_REQUEST)).kind).toBe("decision");
    expect(await ask(await clientWith("other.example"), PLAIN_REQUEST)).toMatchObject({
      kind: "refused",
      status: "UNAVAILABLE",
    });
    expect(await ask(await clientWith(undefined), PLAIN_REQUEST)).toMatchObject({
      kind: "refused",
      status: "UNAVAILABLE",
    });
    expect(opened?.decider.calls).toHaveLength(1);
  });

  it("refuses a client certificate of another authority", async () => {
    await start({ withClients: true });
    const other = await createAuthority({ commonName: "other", now, validDays: 1 });
    const pair = await other.issue({
      commonName: "client",
      dnsNames: ["envoy.example"],
      usage: "client",
      now,
      validDays: 1,
    });
    const channel = credentials.createSsl(
      Buffer.from(authority.certPem),
      Buffer.from(pair.keyPem),
      Buffer.from(pair.certPem),
    );
    const client = new Client(opened?.target ?? "", channel, { "grpc.ssl_target_name_override": "localhost" });
    clients.push(client);
    expect(await ask(client, PLAIN_REQUEST)).toMatchObject({ kind: "refused", status: "UNAVAILABLE" });
  });
});
