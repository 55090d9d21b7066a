// The rate limit service as its users run it: a process with environment variables and rule files,
// with a gRPC client. Runs the sources, unless a test asks for the built program.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, create } from "@bufbuild/protobuf";
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { ProcessExit, ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { unitOfNumber } from "@weir/limits/model/unit";
import {
  type RateLimitResponse,
  RateLimitRequestSchema,
  RateLimitResponse_Code,
  RateLimitService as RateLimitSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { eventually } from "@weir/harness/processes/eventually";
import { type Env, ROOT } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";

/** Longest time of a call, in milliseconds, on a busy machine. */
const CALL_TIMEOUT_MS = 30_000;

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

/** What may differ from the usual start. */
export interface ServiceOptions {
  /** Words in front of the command line. */
  readonly prefix?: readonly string[];
  /** Runs the built program instead of the sources. */
  readonly isBuilt?: boolean;
  /** What the client needs when gRPC is not plaintext. */
  readonly credentials?: ChannelCredentials;
  /** The unix socket of gRPC; by default a port. */
  readonly grpcSocket?: string;
}

/**
 * Starts the service in `folder`, over the rule files given by name, with further environment
 * variables; its listeners take free ports. Resolves when it serves.
 */
export async function startRateLimitService(
  folder: string,
  files: Readonly<Record<string, string>>,
  env: Env,
  options: ServiceOptions = {},
): Promise<RateLimitService> {
  mkdirSync(join(folder, "config"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "config", name), text);
  const lines: string[] = [];
  const ports = new Map<string, number>();
  const sources = [process.execPath, "--conditions=source", join(ROOT, "ratelimit", "src", "main.ts")];
  const program = options.isBuilt === true ? [join(ROOT, "ratelimit", "bin", "weir-ratelimit")] : sources;
  const [command = "", ...args] = [...(options.prefix ?? []), ...program];
  const service = await startProcess({
    name: "ratelimit",
    command,
    args,
    env: {
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
    },
    onLine: (line) => {
      lines.push(line);
      const [, what, port] = /Listening for (\w+) on [^" ]*:(\d+)/.exec(line) ?? [];
      if (what !== undefined) ports.set(what, Number(port));
    },
  });
  try {
    await eventually("the service to listen", () => {
      if (service.isRunning() && !ports.has("HTTP")) throw new Error(lines.join("\n"));
    });
    if (!service.isRunning()) throw service.endedError(await service.exited);
  } catch (error) {
    service.kill();
    throw error;
  }
  return new RateLimitService(service, { lines, ports }, options);
}

/** A running service. */
export class RateLimitService {
  readonly process: ProcessGroup;
  /** Every line that it has written. */
  readonly lines: readonly string[];
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly debugPort: number;
  /** Port of the metrics; 0 when they are not served. */
  readonly statisticsPort: number;
  readonly grpcAddress: string;
  readonly #channel: ChannelCredentials;
  #client: Client | undefined;

  constructor(
    process: ProcessGroup,
    output: { readonly lines: readonly string[]; readonly ports: ReadonlyMap<string, number> },
    { credentials: channel = credentials.createInsecure(), grpcSocket }: ServiceOptions,
  ) {
    this.process = process;
    this.lines = output.lines;
    this.grpcPort = output.ports.get("gRPC") ?? 0;
    this.httpPort = output.ports.get("HTTP") ?? 0;
    this.debugPort = output.ports.get("debug") ?? 0;
    this.statisticsPort = output.ports.get("statistics") ?? 0;
    this.grpcAddress = grpcSocket === undefined ? `${STACK_HOST}:${this.grpcPort}` : `unix:${grpcSocket}`;
    this.#channel = channel;
  }

  /** Asks about descriptors of `domain`. */
  ask(domain: string, ...questions: readonly Question[]): Promise<Answer> {
    return this.askWithin(CALL_TIMEOUT_MS, domain, ...questions);
  }

  /** The same with a deadline of its own, in milliseconds. */
  async askWithin(timeoutMs: number, domain: string, ...questions: readonly Question[]): Promise<Answer> {
    const descriptors = questions.map(({ entries, hits }) => ({
      entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
      ...(hits !== undefined && { hitsAddend: BigInt(hits) }),
    }));
    const request = create(RateLimitRequestSchema, { domain, descriptors });
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitSchema).shouldRateLimit;
    const client = this.#connect();
    const deadline = Date.now() + timeoutMs;
    const response = await new Promise<RateLimitResponse>((resolve, reject) => {
      const answered = (error: ServiceError | null, answer?: RateLimitResponse): void => {
        if (answer === undefined) reject(error ?? new Error("the answer was empty"));
        else resolve(answer);
      };
      const metadata = new Metadata();
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, { deadline }, answered);
    });
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

  #connect(): Client {
    return (this.#client ??= new Client(this.grpcAddress, this.#channel, {
      "grpc.ssl_target_name_override": "localhost",
      "grpc.use_local_subchannel_pool": 1,
    }));
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
