// The local stack as `make run` starts it after the build, on free ports.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";
import { type Env, ROOT } from "../processes/programs.ts";
import { type Program, startProcess } from "../processes/start-process.ts";
import { machine } from "../processes/tools.ts";

/** The page says so last; everything runs by then. */
export const READY_LINE = "Ctrl-C stops everything.";

/** Longest wait for a start, in milliseconds. */
const START_TIMEOUT_MS = 120_000;

/** A stack that was started, and what it wrote so far. */
export interface LocalStack {
  readonly process: Program;
  readonly lines: readonly string[];
}

/** Settings of a stack with the state in `folder`, which serves the folder `manifests`. */
export function localStackEnv(folder: string, manifests: string, ports: StackPorts): Record<string, string> {
  const env: Record<string, string> = {
    PATH: machine()["PATH"] ?? "",
    RUN_DIRECTORY: join(folder, "run"),
    SOURCE_DIRECTORY: manifests,
  };
  for (const { port, setting } of PORT_OWNERS)
    env[setting] = setting.endsWith("_ADDR") ? `:${ports[port]}` : String(ports[port]);
  writeFileSync(join(folder, "ports.json"), JSON.stringify(ports)); // To look into a failed test.
  return env;
}

/** Starts a stack. */
export async function spawnLocalStack(env: Env): Promise<LocalStack> {
  const lines: string[] = [];
  const started = await startProcess({
    name: "make run",
    command: join(ROOT, "node_modules", ".bin", "node"),
    args: [join(ROOT, "dev", "dist", "run.js")],
    env,
    cwd: ROOT,
    onLine: (line) => lines.push(line),
  });
  return { process: started, lines };
}

/** Resolves when everything runs. */
export async function untilLocalStackRuns({ process: started }: LocalStack): Promise<void> {
  await started.find(RegExp(RegExp.escape(READY_LINE)), START_TIMEOUT_MS);
}
