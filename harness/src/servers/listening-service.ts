// Starts a rate limit service, of Weir or of envoyproxy/ratelimit, with its listeners at free ports of this machine.
import type { ProcessOptions } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { reservePorts } from "../processes/reserve-ports.ts";

import type { Env } from "../processes/programs.ts";
import { type Program, startProcess } from "../processes/start-process.ts";

/** Longest wait until it is healthy, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 120_000;

/** A running service. */
export interface ListeningService {
  readonly process: Program;
  readonly grpcPort: number;
  readonly debugPort: number;
  /** Port of the metrics; nothing listens on it when they are not served. */
  readonly metricsPort: number;
  /** Its whole environment. */
  readonly env: Env;
}

/** Starts it with the environment and these ports, and resolves when it is healthy; kills it when that takes too long. */
export async function startListening(options: ProcessOptions): Promise<ListeningService> {
  const [httpPort = 0, grpcPort = 0, debugPort = 0, metricsPort = 0] = await reservePorts(4);
  const env = {
    ...options.env,
    ...{ HOST: STACK_HOST, PORT: String(httpPort) },
    ...{ GRPC_HOST: STACK_HOST, GRPC_PORT: String(grpcPort) },
    ...{ DEBUG_HOST: STACK_HOST, DEBUG_PORT: String(debugPort) },
    PROMETHEUS_ADDR: `${STACK_HOST}:${metricsPort}`,
  };
  const process = await startProcess({ ...options, env });
  try {
    await process.waitUntilReady(`http://${STACK_HOST}:${httpPort}/healthcheck`, READY_TIMEOUT_MS);
  } catch (error) {
    process.kill();
    throw error;
  }
  return { process, grpcPort, debugPort, metricsPort, env };
}
