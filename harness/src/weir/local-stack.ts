// The local stack as `make run` starts it after the build, on free ports.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";
import { eventually } from "../processes/eventually.ts";
import { type Env, ROOT } from "../processes/programs.ts";
import { startProcess } from "../processes/start-process.ts";

/** The page says so last; everything runs by then. */
export const READY_LINE = "Ctrl-C stops everything.";

/** Longest wait for a start, in milliseconds. */
const START_TIMEOUT_MS = 120_000;

/** A stack that was started, and what it wrote so far. */
export interface LocalStack {
  readonly process: ProcessGroup;
  readonly lines: readonly string[];
}

/** Settings of a stack with the state in `folder`, which serves the folder `manifests`. */
export function localStackEnv(folder: string, manifests: string, ports: StackPorts): Record<string, string> {
  const env: Record<string, string> = {
    // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the test to find their tools
    PATH: process.env["PATH"] ?? "",
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
export async function untilLocalStackRuns({ process: started, lines }: LocalStack): Promise<void> {
  await eventually(
    "the stack to run",
    () => {
      const page = lines.join("\n");
      if (!started.isRunning()) throw new Error(`it ended:\n${page}`);
      if (!page.includes(READY_LINE)) throw new Error(page);
    },
    START_TIMEOUT_MS,
  );
}
