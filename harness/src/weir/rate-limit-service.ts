// The rate limit service as its users run it: a process with environment variables and rule files,
// with a gRPC client. Runs the sources, unless a test asks for the built program.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ChannelCredentials } from "@grpc/grpc-js";
import type { ProcessExit } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import {
  type RateLimitResponse,
  RateLimitResponse_Code,
  RateLimitResponse_RateLimit_Unit as Unit,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { type Env, ROOT } from "../processes/programs.ts";
import { type Program, startProgram } from "../processes/start-process.ts";
import { RateLimitClient } from "../servers/rate-limit-client.ts";

/** A busy machine may let a store wait for longer than a proxy would. */
const PATIENCE = { KVSTORE_COMMAND_TIMEOUT: "20s", ALTSTORE_TIMEOUT: "20s" } as const;

/** How long the service may take to stop, in milliseconds. */
const STOP_GRACE_MS = 15_000;

/** One descriptor of a request: its entries, and its own hits if it has them. */
export interface Question {
  readonly entries: Readonly<Record<string, string>>;
  readonly hits?: number;
}

/** The answer about one descriptor. */
export interface Status {
  readonly code: "OK" | "OVER_LIMIT";
  readonly remaining: number;
  /** Such as "20 per MINUTE"; undefined without a limit. */
  readonly limit: string | undefined;
  /** Seconds until the window ends; undefined without a limit. */
  readonly resetSeconds: number | undefined;
}

/** The answer to a call. */
export interface Answer {
  readonly code: "OK" | "OVER_LIMIT";
  readonly statuses: readonly Status[];
  readonly metadata: JsonObject;
}

/** Differences from the usual start. */
export interface ServiceOptions {
  /** Words in front of the command line. */
  readonly prefix?: readonly string[];
  /** Runs the built program instead of the sources. */
  readonly isBuilt?: boolean;
  /** Credentials that the client needs when gRPC is not plaintext. */
  readonly credentials?: ChannelCredentials;
  /** The unix socket of gRPC; by default a port. */
  readonly grpcSocket?: string;
}

/** Starts the service with {@link startRateLimitProgram}. */
export async function startRateLimitService(
  ...[folder, files, env, options = {}]: Parameters<typeof startRateLimitProgram>
): Promise<RateLimitService> {
  return new RateLimitService(await startRateLimitProgram(folder, files, env, options), options);
}

/**
 * Starts the service in `folder`, over the rule files given by name, with further environment
 * variables; its listeners take free ports. Resolves when it serves.
 */
export async function startRateLimitProgram(
  folder: string,
  files: Readonly<Record<string, string>>,
  env: Env,
  { prefix = [], isBuilt = false }: ServiceOptions = {},
): Promise<Program> {
  mkdirSync(join(folder, "config"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "config", name), text);
  const sources = [process.execPath, "--conditions=source", join(ROOT, "ratelimit", "src", "main.ts")];
  const program = isBuilt ? [join(ROOT, "ratelimit", "bin", "weir-ratelimit")] : sources;
  const [command = "", ...args] = [...prefix, ...program];
  const service = startProgram(command, args, {
    HOST: STACK_HOST,
    PORT: "0",
    GRPC_HOST: STACK_HOST,
    GRPC_PORT: "0",
    DEBUG_HOST: STACK_HOST,
    DEBUG_PORT: "0",
    RUNTIME_ROOT: folder,
    RUNTIME_WATCH_ROOT: "false",
    USE_STATSD: "false",
    USE_PROMETHEUS: "true",
    PROMETHEUS_ADDR: `${STACK_HOST}:0`,
    SHUTDOWN_DRAIN: "0",
    ...PATIENCE,
    ...env,
  });
  try {
    await service.find(/Listening for HTTP on /);
  } catch (error) {
    await service.end();
    throw error;
  }
  return service;
}

/** A running service. */
export class RateLimitService {
  readonly process: Program;
  readonly #options: ServiceOptions;
  #client: RateLimitClient | undefined;

  constructor(process: Program, options: ServiceOptions = {}) {
    this.process = process;
    this.#options = options;
  }

  /** Every line that it has written. */
  get lines(): readonly string[] {
    return this.process.text().split("\n").slice(0, -1); // Nothing follows the last line break.
  }

  get grpcPort(): number {
    return this.#portOf("gRPC");
  }

  get httpPort(): number {
    return this.#portOf("HTTP");
  }

  get debugPort(): number {
    return this.#portOf("debug");
  }

  /** Port of the metrics; 0 when they are not served. */
  get statisticsPort(): number {
    return this.#portOf("statistics");
  }

  get grpcAddress(): string {
    const { grpcSocket } = this.#options;
    return grpcSocket === undefined ? `${STACK_HOST}:${this.grpcPort}` : `unix:${grpcSocket}`;
  }

  /** Asks about descriptors of `domain`. */
  ask(domain: string, ...questions: readonly Question[]): Promise<Answer> {
    return this.askWithin(undefined, domain, ...questions);
  }

  /** The same with a deadline of its own, in milliseconds. */
  async askWithin(timeoutMs: number | undefined, domain: string, ...questions: readonly Question[]): Promise<Answer> {
    const descriptors = questions.map(({ entries, hits }) => ({
      entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
      ...(hits !== undefined && { hitsAddend: BigInt(hits) }),
    }));
    const client = (this.#client ??= new RateLimitClient(this.grpcAddress, this.#options.credentials));
    const response = await client.call({ domain, descriptors }, timeoutMs);
    return answerOf(response);
  }

  /** Every statistic, by its name. */
  async statistics(): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`http://${STACK_HOST}:${this.debugPort}/stats?format=json`);
    return (await response.json()) as Record<string, unknown>;
  }

  /** The value of one; 0 for an unknown name. */
  async statistic(name: string): Promise<number> {
    return Number((await this.statistics())[name] ?? 0);
  }

  /** Closes the connection of the client; the next call opens another. */
  disconnect(): void {
    this.#client?.close();
    this.#client = undefined;
  }

  /** Stops it and resolves with how it ended. */
  stop(): Promise<ProcessExit> {
    this.disconnect();
    return this.process.stop("SIGTERM", STOP_GRACE_MS);
  }

  #portOf(what: string): number {
    return Number(new RegExp(`Listening for ${what} on [^" ]*:(\\d+)`).exec(this.process.text())?.[1] ?? 0);
  }
}

function answerOf(response: RateLimitResponse): Answer {
  return {
    code: codeOf(response.overallCode),
    statuses: response.statuses.map(({ code, currentLimit, limitRemaining, durationUntilReset }) => ({
      code: codeOf(code),
      remaining: limitRemaining,
      limit:
        currentLimit === undefined ? undefined : `${currentLimit.requestsPerUnit} per ${unitOf(currentLimit.unit)}`,
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

/** Such as "MINUTE". */
function unitOf(number: number): string {
  return Object.entries(Unit).find(([, value]) => value === number)![0];
}
