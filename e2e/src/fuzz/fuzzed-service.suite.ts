// The rate limit service of the fuzzer: the real program in a process of its own, with checks that
// it still works.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { Wire } from "@weir/harness/http2/wire";
import { socketInodes } from "@weir/harness/processes/processes";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { residentMebibytes } from "../benchmarks/cpu-time.ts";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import type { FuzzTarget } from "./fuzz-listener.suite.ts";
import { goodRequest, type Http1Target } from "./http1-inputs.suite.ts";

/** How the gRPC listener of a service accepts connections. */
export type GrpcKind = "plain" | "tls" | "unix";

/**
 * Longest wait for an answer to a good request, in milliseconds: everything sent before it may have
 * to be read first.
 */
const ANSWER_TIMEOUT_MS = 60_000;

/** A limit that no run reaches, and one that is exceeded immediately. */
const RULES = `domain: fuzz
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 4000000000}}
  - {key: path, detailed_metric: true, rate_limit: {unit: second, requests_per_unit: 1}}
`;

const BODY =
  '{"domain":"fuzz","hitsAddend":2,"descriptors":[{"entries":[{"key":"user","value":"ada"}],"limit":{"unit":"HOUR","requestsPerUnit":900000000}}]}';

/** Log lines that must not occur: errors, stack traces, warnings of Node about itself. */
const COMPLAINT = /level=(error|fatal)|^ +at |\(node:\d+\)|unhandled|uncaught/i;

/** Starts the service in `folder`; `prefix` goes in front of its command line. */
export async function startFuzzedService(
  folder: string,
  grpc: GrpcKind,
  prefix: readonly string[] = [],
): Promise<FuzzedService> {
  const common = { BACKEND_TYPE: "memory", LOG_LEVEL: "warn" };
  const start = (env: object, options: object): Promise<RateLimitService> =>
    startRateLimitService(folder, { "rules.yaml": RULES }, { ...common, ...env }, { prefix, ...options });
  let service: RateLimitService;
  let address: FuzzTarget["address"];
  if (grpc === "unix") {
    const path = join(folder, "grpc.sock");
    service = await start({ GRPC_UDS: path }, { grpcSocket: path });
    address = { kind: "unix", path };
  } else if (grpc === "tls") {
    const { ca, serverCert, serverKey } = await writeCertificates(folder);
    const env = { GRPC_SERVER_USE_TLS: "true", GRPC_SERVER_TLS_CERT: serverCert, GRPC_SERVER_TLS_KEY: serverKey };
    const root = readFileSync(ca);
    service = await start(env, { credentials: credentials.createSsl(root) });
    address = { kind: "tls", port: service.grpcPort, context: createSecureContext({ ca: root }) };
  } else {
    service = await start({}, {});
    address = { kind: "tcp", port: service.grpcPort };
  }
  const fuzzed = new FuzzedService(service, { name: `gRPC (${grpc})`, address, speaks: "grpc" });
  try {
    await fuzzed.assertAnswers();
  } catch (error) {
    fuzzed.program.kill();
    throw error;
  }
  return fuzzed;
}

/** A running service. */
export class FuzzedService {
  readonly targets: readonly [FuzzTarget, ...FuzzTarget[]];
  readonly #service: RateLimitService;

  constructor(service: RateLimitService, grpc: FuzzTarget) {
    this.#service = service;
    const http1 = (name: string, port: number, speaks: Http1Target): FuzzTarget => {
      return { name, address: { kind: "tcp", port }, speaks };
    };
    const debugPaths = ["/rlconfig", "/", "/healthcheck", "/debug/pprof/", "/debug/pprof/goroutine"] as const;
    this.targets = [
      grpc,
      http1("HTTP", service.httpPort, { paths: ["/json", "/json", "/healthcheck", "/"], body: BODY }),
      http1("debug", service.debugPort, { paths: debugPaths, body: undefined }),
      http1("statistics", service.statisticsPort, { paths: ["/x", "/metrics/", "/", "/METRICS"], body: undefined }),
    ];
  }

  get program(): ProcessGroup {
    return this.#service.process;
  }

  /** Throws unless the process still runs and every listener answers a good request. */
  async assertAnswers(): Promise<void> {
    if (!this.program.isRunning()) throw this.program.endedError(await this.program.exited);
    const answer = await this.#service.askWithin(ANSWER_TIMEOUT_MS, "fuzz", { entries: { user: "good" } });
    this.#service.disconnect(); // So that every connection is one of the fuzzer.
    if (answer.code !== "OK") throw new Error(`gRPC answers a good request with ${answer.code}`);
    for (const { name, address, speaks } of this.targets) {
      if (speaks === "grpc") continue;
      const wire = await Wire.open(address);
      let text = "";
      wire.onData = (chunk) => (text += chunk.toString("latin1"));
      wire.write(goodRequest(name === "statistics" ? { ...speaks, paths: ["/metrics"] } : speaks));
      await wire.until(() => text !== "", ANSWER_TIMEOUT_MS);
      wire.destroy();
      if (!text.startsWith("HTTP/1.1 200 "))
        throw new Error(`${name} answers a good request with ${JSON.stringify(text.slice(0, 200))}`);
    }
  }

  /** Log lines that must not occur. */
  complaints(): readonly string[] {
    return this.logLines(COMPLAINT);
  }

  /** The lines of the log that match. */
  logLines(pattern: RegExp): readonly string[] {
    return this.#service.lines.filter((line) => pattern.test(line));
  }

  /** Sockets of the process, including listeners and those to stores. */
  openSockets(): number {
    return socketInodes(this.program.pid).length;
  }

  /** Resident memory of the process, in bytes. */
  rssBytes(): number {
    return residentMebibytes(this.program.pid) * 2 ** 20;
  }

  /** Ends it in order and resolves with its exit code. */
  async stop(): Promise<number | null> {
    return (await this.#service.stop()).code;
  }
}
