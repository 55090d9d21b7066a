// The rate limit service as the fuzzer runs it: the real program in a process of its own, with what
// it takes to tell that it still does its work.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";

import { create } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { createAuthority } from "@weir/certificates/authority";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { eventually } from "@weir/testing/eventually";
import { FREE_LISTENERS } from "../conformance/rate-limit-service.ts";
import { ROOT } from "../parts/flow.ts";
import type { FuzzTarget } from "./fuzz-listener.ts";
import { goodRequest, type Http1Target } from "./http1-inputs.ts";
import { Wire } from "./wire.ts";

/** What the gRPC listener of a service is. */
export type GrpcKind = "plain" | "tls" | "unix";

/**
 * Longest wait for a good answer, in milliseconds: everything sent before it may have to be read
 * first.
 */
const ANSWER_TIMEOUT_MS = 60_000;

/** A limit that no run reaches, and one that is over at once. */
const RULES = `domain: fuzz
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 4000000000}}
  - {key: path, detailed_metric: true, rate_limit: {unit: second, requests_per_unit: 1}}
`;

const BODY =
  '{"domain":"fuzz","hitsAddend":2,"descriptors":[{"entries":[{"key":"user","value":"ada"}],"limit":{"unit":"HOUR","requestsPerUnit":900000000}}]}';

/** A running service. */
export interface FuzzedService {
  readonly targets: readonly [FuzzTarget, ...FuzzTarget[]];
  readonly pid: number;
  /** Throws unless the process still runs and every listener answers a good request. */
  assertAnswers(): Promise<void>;
  /** What the log has that it must not have: errors, stacks, the words of Node about itself. */
  complaints(): readonly string[];
  /** The lines of the log that match. */
  logLines(pattern: RegExp): readonly string[];
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void;
  /** Sockets that the process has, its listeners and those to stores among them. */
  openSockets(): number;
  /** Memory that the process has of the machine. */
  rssBytes(): number;
  /** Ends it in order and resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Ends it at once; safe at any time. */
  kill(): void;
}

/** Starts the service in `folder`; `prefix` goes in front of its command line. */
export async function startFuzzedService(
  folder: string,
  grpc: GrpcKind,
  prefix: readonly string[] = [],
): Promise<FuzzedService> {
  mkdirSync(join(folder, "config"), { recursive: true });
  writeFileSync(join(folder, "config", "rules.yaml"), RULES);
  const { env, ca } = await grpcSettings(folder, grpc);
  const [command, ...args] = [...prefix, process.execPath, "--conditions=source", join(ROOT, "ratelimit/src/main.ts")];
  const child = spawn(command, args, {
    env: {
      ...FREE_LISTENERS,
      USE_PUSHSTATS: "false",
      USE_PULLSTATS: "true",
      PULLSTATS_ADDR: "127.0.0.1:0",
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      RUNTIME_WATCH_ROOT: "false",
      SHUTDOWN_DRAIN: "0",
      LOG_LEVEL: "warn",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const service = new ChildService(child, folder, grpc, ca);
  try {
    await service.ready();
    return service;
  } catch (error) {
    service.kill();
    throw error;
  }
}

async function grpcSettings(
  folder: string,
  grpc: GrpcKind,
): Promise<{ readonly env: Record<string, string>; readonly ca: string }> {
  if (grpc === "plain") return { env: {}, ca: "" };
  if (grpc === "unix") return { env: { GRPC_UDS: join(folder, "grpc.sock") }, ca: "" };
  const now = new Date();
  const authority = await createAuthority({ commonName: "fuzz", now, validDays: 1 });
  const { certPem, keyPem } = await authority.issue({
    commonName: "localhost",
    dnsNames: ["localhost"],
    usage: "server",
    now,
    validDays: 1,
  });
  writeFileSync(join(folder, "cert.pem"), certPem);
  writeFileSync(join(folder, "key.pem"), keyPem);
  const env = {
    GRPC_SERVER_USE_TLS: "true",
    GRPC_SERVER_TLS_CERT: join(folder, "cert.pem"),
    GRPC_SERVER_TLS_KEY: join(folder, "key.pem"),
  };
  return { env, ca: authority.certPem };
}

class ChildService implements FuzzedService {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #grpc: GrpcKind;
  readonly #ca: string;
  readonly #exited: Promise<number | null>;
  #stderr = "";
  #targets: readonly [FuzzTarget, ...FuzzTarget[]] | undefined;

  constructor(child: ChildProcess, folder: string, grpc: GrpcKind, ca: string) {
    this.#child = child;
    this.#folder = folder;
    this.#grpc = grpc;
    this.#ca = ca;
    child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.#exited = new Promise((resolve) => child.on("close", (code) => resolve(code)));
  }

  get targets(): readonly [FuzzTarget, ...FuzzTarget[]] {
    if (this.#targets === undefined) throw new TypeError("The service is not ready");
    return this.#targets;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async ready(): Promise<void> {
    await eventually("the service to listen", () => {
      if (!this.#stderr.includes("Listening for HTTP")) throw new Error(this.#stderr);
    });
    const plain = (what: string, speaks: Http1Target): FuzzTarget => ({
      name: what,
      address: { kind: "tcp", port: this.#port(what) },
      speaks,
    });
    this.#targets = [
      { name: `gRPC (${this.#grpc})`, address: this.#grpcAddress(), speaks: "grpc" },
      plain("HTTP", { paths: ["/json", "/json", "/healthcheck", "/"], body: BODY }),
      plain("debug", {
        paths: ["/rlconfig", "/", "/healthcheck", "/debug/pprof/", "/debug/pprof/goroutine"],
        body: undefined,
      }),
      plain("statistics", { paths: ["/x", "/metrics/", "/", "/METRICS"], body: undefined }),
    ];
    await this.assertAnswers();
  }

  async assertAnswers(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      throw new Error(
        `The process has ended with ${this.#child.exitCode ?? this.#child.signalCode ?? "?"}:\n${this.#stderr.slice(-4000)}`,
      );
    }
    await this.#assertGrpcAnswers();
    for (const { name, address, speaks } of this.targets) {
      if (speaks === "grpc") continue;
      const wire = await Wire.open(address);
      let answer = "";
      wire.onData = (chunk) => {
        answer += chunk.toString("latin1");
        return true;
      };
      wire.write(goodRequest(name === "statistics" ? { ...speaks, paths: ["/metrics"] } : speaks));
      await wire.wait(ANSWER_TIMEOUT_MS);
      wire.destroy();
      if (!answer.startsWith("HTTP/1.1 200 "))
        throw new Error(`${name} answers a good request with ${JSON.stringify(answer.slice(0, 200))}`);
    }
  }

  complaints(): readonly string[] {
    return this.logLines(/level=(error|fatal)|^ +at |\(node:\d+\)|unhandled|uncaught/i);
  }

  logLines(pattern: RegExp): readonly string[] {
    return this.#stderr.split("\n").filter((line) => pattern.test(line));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  openSockets(): number {
    const folder = `/proc/${this.pid}/fd`;
    return readdirSync(folder).filter((name) => {
      try {
        return readlinkSync(join(folder, name)).startsWith("socket:");
      } catch {
        return false; // Closed since the listing.
      }
    }).length;
  }

  rssBytes(): number {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  }

  async stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return await this.#exited;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #port(what: string): number {
    const port = Number(new RegExp(`Listening for ${what} on [^" ]*:(\\d+)`).exec(this.#stderr)?.[1]);
    if (!Number.isInteger(port)) throw new Error(`It does not say where it listens for ${what}:\n${this.#stderr}`);
    return port;
  }

  #grpcAddress(): FuzzTarget["address"] {
    switch (this.#grpc) {
      case "unix":
        return { kind: "unix", path: join(this.#folder, "grpc.sock") };
      case "plain":
        return { kind: "tcp", port: this.#port("gRPC") };
      case "tls":
        return { kind: "tls", port: this.#port("gRPC"), context: createSecureContext({ ca: this.#ca }) };
    }
  }

  #assertGrpcAnswers(): Promise<void> {
    const { address } = this.targets[0];
    const channel = this.#grpc === "tls" ? credentials.createSsl(Buffer.from(this.#ca)) : credentials.createInsecure();
    const dial = address.kind === "unix" ? `unix:${address.path}` : `127.0.0.1:${address.port}`;
    const client = new Client(dial, channel, {
      "grpc.ssl_target_name_override": "localhost",
      "grpc.use_local_subchannel_pool": 1,
    });
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
    const request = create(RateLimitRequestSchema, {
      domain: "fuzz",
      descriptors: [{ entries: [{ key: "user", value: "good" }] }],
    });
    return new Promise((resolve, reject) => {
      const deadline = Date.now() + ANSWER_TIMEOUT_MS;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, response) => {
        client.close();
        if (error === null && response?.overallCode === 1) resolve();
        else
          reject(
            new Error(`gRPC answers a good request with ${error?.message ?? JSON.stringify(response?.overallCode)}`),
          );
      });
    });
  }
}
