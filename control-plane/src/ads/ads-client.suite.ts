// A real gRPC client in the part of a pod, and certificates for both ends. Only integration tests
// import it. It keeps the laws of fake-ads-stream.suite.ts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, type ClientDuplexStream, credentials, type StatusObject } from "@grpc/grpc-js";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { type MethodDefinition, serviceDefinition } from "@weir/proto/grpc/service-definition";

import { expectLawful, requestOf, type RequestText } from "./stream/fake-ads-stream.suite.ts";

/** Longest wait for anything, in milliseconds. */
const DEADLINE_MS = 40_000;

/** Time between two looks, in milliseconds. */
const LOOK_INTERVAL_MS = 5;

/** The name in the server's certificate. Node refuses an IP address as the name of a TLS server. */
const SERVER_NAME = "control-plane.test";

/** Resolves when the condition holds; rejects with `what` when it does not in time. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
  }
}

/** Certificate, key and authority of one end, PEM. */
export interface TestIdentity {
  readonly certPem: string;
  readonly keyPem: string;
  readonly caPem: string;
}

/** Certificates in a temporary folder, and the authority behind them. */
export interface TestCertificates {
  readonly authority: Authority;
  /** Paths of the server's files. */
  readonly server: { readonly certPath: string; readonly keyPath: string; readonly caPath: string };
  /** Writes another certificate for the server over the one that is there. */
  renewServer(from?: Authority): Promise<void>;
  /** A client certificate with these DNS names. */
  issueClient(dnsNames?: readonly string[], from?: Authority): Promise<TestIdentity>;
  remove(): void;
}

/** Makes an authority and a server certificate. */
export async function createTestCertificates(): Promise<TestCertificates> {
  const folder = mkdtempSync(join(tmpdir(), "weir-ads-"));
  const authority = await createTestAuthority();
  const server = {
    certPath: join(folder, "server.pem"),
    keyPath: join(folder, "server.key"),
    caPath: join(folder, "ca.pem"),
  };
  const renewServer = async (from = authority): Promise<void> => {
    const pair = await from.issue({
      commonName: "control plane",
      dnsNames: [SERVER_NAME],
      usage: "server",
      now: new Date(),
      validDays: 1,
    });
    writeFileSync(server.certPath, pair.certPem);
    writeFileSync(server.keyPath, pair.keyPem);
    writeFileSync(server.caPath, authority.certPem);
  };
  await renewServer();
  return {
    authority,
    server,
    renewServer,
    issueClient: async (dnsNames = ["ratelimit"], from = authority) => {
      const pair = await from.issue({ commonName: "pod", dnsNames, usage: "client", now: new Date(), validDays: 1 });
      return { ...pair, caPem: authority.certPem };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** An authority of its own. */
export async function createTestAuthority(): Promise<Authority> {
  return createAuthority({ commonName: "test authority", now: new Date(), validDays: 2 });
}

/** How a stream is opened. */
export type StreamMethod = MethodDefinition<DiscoveryRequest, DiscoveryResponse>;

/**
 * Asks once, by the method of the single-type service; resolves with the answer or rejects with the
 * status.
 */
export async function fetchOnce(port: number, request: RequestText): Promise<DiscoveryResponse> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  const { path, requestSerialize, responseDeserialize } = serviceDefinition(
    RateLimitConfigDiscoveryService,
  ).fetchRlsConfigs;
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, requestOf(request), (error, answer) => {
        if (answer === undefined) reject(error ?? new Error("Neither an answer nor an error"));
        else resolve(answer);
      });
    });
  } finally {
    client.close();
  }
}

/** A pod with a connection of its own. */
export class RealPod {
  readonly responses: DiscoveryResponse[] = [];
  /** How the stream ended; undefined while it is open. */
  end: Pick<StatusObject, "code" | "details"> | undefined;
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<DiscoveryRequest, DiscoveryResponse>;

  /**
   * Connects to a port of this machine, without TLS when there is no identity; `method` is the
   * stream of an aggregated service unless said otherwise.
   */
  constructor(
    port: number,
    identity?: TestIdentity,
    method: StreamMethod = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources,
  ) {
    const secure =
      identity === undefined
        ? credentials.createInsecure()
        : credentials.createSsl(
            Buffer.from(identity.caPem),
            Buffer.from(identity.keyPem),
            Buffer.from(identity.certPem),
          );
    // Connections are shared by address otherwise, and a test of the handshake would see none.
    this.#client = new Client(`127.0.0.1:${port}`, secure, {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
      "grpc.ssl_target_name_override": SERVER_NAME,
    });
    this.#stream = this.#client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    this.#stream.on("data", (response: DiscoveryResponse) => {
      expectLawful(
        response,
        this.responses.map(({ nonce }) => nonce),
      );
      this.responses.push(response);
    });
    this.#stream.on("status", ({ code, details }: StatusObject) => {
      this.end = { code, details };
    });
    this.#stream.on("error", () => undefined); // The status says it.
  }

  /** The last response; fails when there is none. */
  get last(): DiscoveryResponse {
    const response = this.responses.at(-1);
    if (response === undefined) throw new Error("The pod was sent nothing");
    return response;
  }

  request(text: RequestText = {}): void {
    this.#stream.write(requestOf(text));
  }

  accept(): void {
    this.request({ version: this.last.versionInfo, nonce: this.last.nonce });
  }

  reject(message: string): void {
    this.request({ nonce: this.last.nonce, error: { message } });
  }

  /** Resolves with the response when there are `count` of them. */
  async response(count: number): Promise<DiscoveryResponse> {
    await until(
      `response ${count}, there are ${this.responses.length}, the stream ended with ${this.end?.details ?? "nothing"}`,
      () => this.responses.length >= count,
    );
    return this.last;
  }

  /** Resolves with the way in which the stream ended. */
  async ended(): Promise<Pick<StatusObject, "code" | "details">> {
    await until("the end of the stream", () => this.end !== undefined);
    if (this.end === undefined) throw new Error("No end");
    return this.end;
  }

  /** Stops taking bytes from the connection, as a pod that hangs. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Says that it has nothing more to say, and continues listening. */
  finish(): void {
    this.#stream.end();
  }

  close(): void {
    this.#stream.cancel();
    this.#client.close();
  }
}
