// The rate limit service as its users run it: a process with environment variables and rule files,
// asked over gRPC, looked into over its debug port. Runs the sources, so that the conformance suite
// needs no build.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, create } from "@bufbuild/protobuf";
import { Client, Metadata, type ServiceError, credentials } from "@grpc/grpc-js";
import {
  type RateLimitResponse,
  RateLimitRequestSchema,
  RateLimitResponse_Code,
  RateLimitService as RateLimitSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { unitOfNumber } from "@weir/limits/model/unit";
import { ROOT } from "../parts/flow.ts";
import { STACK_HOST } from "@weir/dev/ports";
import { type ProcessExit, type ProcessGroup, startProcess } from "@weir/dev/process-group";
import { waitUntilReadyOrEnded } from "./ready-or-ended.ts";

/**
 * How long a call may take, in milliseconds: generous, because the machine of a test may be busy.
 */
const CALL_TIMEOUT_MS = 15_000;

/** How long the service may take to stop, in milliseconds. */
const STOP_GRACE_MS = 15_000;

/** Environment of a rate limit service whose listeners take free ports. */
export const FREE_LISTENERS = {
  HOST: STACK_HOST,
  PORT: "0",
  GRPC_HOST: STACK_HOST,
  GRPC_PORT: "0",
  DEBUG_HOST: STACK_HOST,
  DEBUG_PORT: "0",
} as const;

/** One descriptor of a question: its entries, and the hits that it adds if those are its own. */
export interface Question {
  readonly entries: Readonly<Record<string, string>>;
  readonly hits?: number;
}

/** What is answered about one descriptor. */
export interface Status {
  readonly code: "OK" | "OVER_LIMIT";
  readonly remaining: number;
  /** Such as "20 per MINUTE"; undefined when there is no limit. */
  readonly limit: string | undefined;
  /** Seconds until the window ends; undefined when there is no limit. */
  readonly resetSeconds: number | undefined;
}

/** What is answered about a call. */
export interface Answer {
  readonly code: "OK" | "OVER_LIMIT";
  readonly statuses: readonly Status[];
  readonly metadata: JsonObject;
}

/** A running service. */
export interface RateLimitService {
  readonly httpPort: number;
  readonly debugPort: number;
  /** Where it is scraped; 0 when it is not. */
  readonly statisticsPort: number;
  readonly grpcAddress: string;
  /** Asks about descriptors of `domain`. */
  ask(domain: string, ...questions: readonly Question[]): Promise<Answer>;
  /** The same with a deadline of its own, in milliseconds. */
  askWithin(timeoutMs: number, domain: string, ...questions: readonly Question[]): Promise<Answer>;
  /** Every statistic, by its name. */
  statistics(): Promise<Readonly<Record<string, unknown>>>;
  /** The value of one; 0 when there is none of that name. */
  statistic(name: string): Promise<number>;
  /** The lines it wrote last. */
  lines(): readonly string[];
  stop(): Promise<ProcessExit>;
}

/**
 * Starts the service in `folder`, over the rule files given by name, with further environment
 * variables. Resolves when it serves.
 */
export async function startRateLimitService(
  folder: string,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Promise<RateLimitService> {
  mkdirSync(join(folder, "config"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "config", name), text);
  const ports = new Map<string, number>();
  const service = await startProcess({
    name: "ratelimit",
    command: process.execPath,
    args: ["--conditions=source", join(ROOT, "ratelimit", "src", "main.ts")],
    env: {
      ...FREE_LISTENERS,
      RUNTIME_ROOT: folder,
      RUNTIME_WATCH_ROOT: "false",
      USE_STATSD: "false",
      USE_PROMETHEUS: "true",
      PROMETHEUS_ADDR: `${STACK_HOST}:0`,
      SHUTDOWN_DRAIN: "0",
      ...env,
    },
    onLine: (line) => {
      const [, what, port] = /Listening for (\w+) on [^" ]*:(\d+)/.exec(line) ?? [];
      if (what !== undefined) ports.set(what, Number(port));
    },
  });
  await waitUntilReadyOrEnded(service, () => {
    if (!ports.has("HTTP")) throw new Error(`it does not listen yet: ${service.lastLines().join("\n")}`);
  });
  return new ServiceProcess(service, ports);
}

class ServiceProcess implements RateLimitService {
  readonly httpPort: number;
  readonly debugPort: number;
  readonly statisticsPort: number;
  readonly grpcAddress: string;
  private readonly process: ProcessGroup;
  private readonly client: Client;

  constructor(process: ProcessGroup, ports: ReadonlyMap<string, number>) {
    this.process = process;
    this.httpPort = ports.get("HTTP") ?? 0;
    this.debugPort = ports.get("debug") ?? 0;
    this.statisticsPort = ports.get("statistics") ?? 0;
    this.grpcAddress = `${STACK_HOST}:${ports.get("gRPC") ?? 0}`;
    this.client = new Client(this.grpcAddress, credentials.createInsecure());
  }

  ask(domain: string, ...questions: readonly Question[]): Promise<Answer> {
    return this.askWithin(CALL_TIMEOUT_MS, domain, ...questions);
  }

  async askWithin(timeoutMs: number, domain: string, ...questions: readonly Question[]): Promise<Answer> {
    const descriptors = questions.map(({ entries, hits }) => ({
      entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
      ...(hits !== undefined && { hitsAddend: BigInt(hits) }),
    }));
    const request = create(RateLimitRequestSchema, { domain, descriptors });
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitSchema).shouldRateLimit;
    const deadline = Date.now() + timeoutMs;
    const response = await new Promise<RateLimitResponse>((resolve, reject) => {
      const answered = (error: ServiceError | null, answer?: RateLimitResponse): void => {
        if (answer === undefined) reject(error ?? new Error("the answer was empty"));
        else resolve(answer);
      };
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        { deadline },
        answered,
      );
    });
    return answerOf(response);
  }

  async statistics(): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`http://${STACK_HOST}:${this.debugPort}/stats?format=json`);
    return (await response.json()) as Record<string, unknown>;
  }

  async statistic(name: string): Promise<number> {
    return Number((await this.statistics())[name] ?? 0);
  }

  lines(): readonly string[] {
    return this.process.lastLines();
  }

  stop(): Promise<ProcessExit> {
    this.client.close();
    return this.process.stop("SIGTERM", STOP_GRACE_MS);
  }
}

function answerOf(response: RateLimitResponse): Answer {
  return {
    code: codeOf(response.overallCode),
    statuses: response.statuses.map(({ code, currentLimit, limitRemaining, durationUntilReset }) => ({
      code: codeOf(code),
      remaining: limitRemaining,
      limit:
        currentLimit === undefined
          ? undefined
          : `${currentLimit.requestsPerUnit} per ${unitOfNumber(currentLimit.unit)}`,
      resetSeconds: durationUntilReset === undefined ? undefined : Number(durationUntilReset.seconds),
    })),
    metadata: response.dynamicMetadata ?? {},
  };
}

function codeOf(code: RateLimitResponse_Code): "OK" | "OVER_LIMIT" {
  if (code === RateLimitResponse_Code.OK) return "OK";
  if (code === RateLimitResponse_Code.OVER_LIMIT) return "OVER_LIMIT";
  throw new Error(`The service answered the code ${code}`);
}
