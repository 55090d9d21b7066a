// One measurement: runs the load generator against one server, reads what the server used
// meanwhile, and makes sure that every answer was what it had to be.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { E2eError } from "../../errors.ts";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { cpuTimeMs, residentMebibytes, waitedForCoreMs } from "../cpu-time.ts";
import type { LoadOrder, LoadReport } from "../load/load-generator.ts";
import type { MeasuredServer } from "./measured-server.ts";
import type { Load, Question } from "./workload.ts";

/** The load and the question to measure. */
export interface Scenario {
  readonly load: Load;
  readonly question: Question;
}

/** How to measure. */
export interface MeasureOptions {
  /** In front of the command line of the load generator. */
  readonly pinned: readonly string[];
  readonly times: Pick<LoadOrder, "warmUpMs" | "measureMs">;
}

/** The result. */
export interface Sample {
  readonly report: LoadReport;
  readonly cpuMicrosPerDecision: number;
  /** Share of the time in which the server had work but no core, 0 to 1. */
  readonly waitedShare: number;
  /** Resident memory of the server at the end, in MiB. */
  readonly residentMebibytes: number;
}

/**
 * Measures once. Throws BENCHMARK_FAILED when a call failed or was answered otherwise than it had
 * to be.
 */
export async function measure(
  server: MeasuredServer,
  { load, question }: Scenario,
  options: MeasureOptions,
): Promise<Sample> {
  const order: LoadOrder = {
    host: STACK_HOST,
    port: server.grpcPort,
    path: serviceDefinition(RateLimitService).shouldRateLimit.path,
    message: Buffer.from(question.message).toString("base64"),
    keys: question.keys,
    ...options.times,
    connections: load.connections,
    load: load.load,
  };
  const args = [
    ...options.pinned,
    process.execPath,
    join(import.meta.dirname, "..", "load", "load-generator.js"),
    JSON.stringify(order),
  ];
  const running = promisify(execFile)("env", args);
  // Processor time of the whole run against the calls of the measured part would be wrong: it is
  // read at both ends of that part.
  const cpu = watchCpu(server.pid);
  try {
    const { stdout } = await running;
    const report = JSON.parse(stdout) as LoadReport;
    checkAnswers(report, question);
    const { cpuMs, waitedMs } = cpu.between(report.beganMs, report.endedMs);
    return {
      report,
      // Without a single answer, as on a machine that stalls, no number would be right.
      cpuMicrosPerDecision: report.answers === 0 ? Number.NaN : (cpuMs * 1000) / report.answers,
      waitedShare: waitedMs / (report.endedMs - report.beganMs),
      residentMebibytes: residentMebibytes(server.pid),
    };
  } catch (cause) {
    if (cause instanceof E2eError) throw cause;
    // The generator's own words; around them is nothing but its command line.
    const reason = (cause as { stderr?: string }).stderr?.trim() ?? String(cause);
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure ${load.name} over ${server.name}: ${reason}`, { cause });
  } finally {
    cpu.stop();
  }
}

function checkAnswers({ answers, overLimit }: LoadReport, { answers: expected }: Question): void {
  const wrong = expected === "within" ? overLimit : answers - overLimit;
  if (wrong === 0) return;
  const what = expected === "within" ? "over a limit that cannot be reached" : "within a limit that all are over";
  throw new E2eError("BENCHMARK_FAILED", `${wrong} of ${answers} answers were ${what}`);
}

/** How often the processor time of the server is read, in milliseconds. */
const CPU_INTERVAL_MS = 50;

// Reads the processor time at short intervals, with the time of each reading, so that any span can
// be asked for afterwards.
function watchCpu(pid: number): {
  between(beganMs: number, endedMs: number): { readonly cpuMs: number; readonly waitedMs: number };
  stop(): void;
} {
  const readings: { readonly atMs: number; readonly cpuMs: number; readonly waitedMs: number }[] = [];
  const read = (): void => {
    readings.push({ atMs: Date.now(), cpuMs: cpuTimeMs(pid), waitedMs: waitedForCoreMs(pid) });
  };
  read();
  const timer = setInterval(read, CPU_INTERVAL_MS);
  return {
    between: (beganMs, endedMs) => {
      const inside = readings.filter(({ atMs }) => atMs >= beganMs && atMs <= endedMs);
      const [first, last] = [inside[0], inside.at(-1)];
      if (first === undefined || last === undefined || first === last) {
        throw new E2eError("BENCHMARK_FAILED", "The processor time could not be read often enough");
      }
      // The readings cover almost the whole span; the rest is taken to cost the same.
      const scale = (endedMs - beganMs) / (last.atMs - first.atMs);
      return { cpuMs: (last.cpuMs - first.cpuMs) * scale, waitedMs: (last.waitedMs - first.waitedMs) * scale };
    },
    stop: () => clearInterval(timer),
  };
}
