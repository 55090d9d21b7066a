// Starts the programs of the repository for tests, on free ports, and runs command lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";
import { planPrograms, type ProgramPlan, type StackPlace } from "@weir/dev/setup/programs";
import { reservePorts } from "./reserve-ports.ts";
import { startProcess } from "./start-process.ts";

/** Root of the repository. */
export const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Longest wait for a program to be ready, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 120_000;

/** Longest time of one command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 60_000;

/** Environment variables. */
export type Env = Readonly<Record<string, string>>;

/** A free port for each listener of the stack, kept until this process ends. */
export async function anyPorts(): Promise<StackPorts> {
  const ports = await reservePorts(PORT_OWNERS.length);
  const entries = PORT_OWNERS.map(({ port }, index) => [port, ports[index]] as const);
  return Object.fromEntries(entries) as Record<keyof StackPorts, number>;
}

/** The path of a program of the checkout at `root`. */
export function launcher(name: string, root = ROOT): string {
  return join(root, "node_modules", ".bin", name);
}

/** Starts one program of the stack at `place`, by default of this checkout, and waits until it is ready. */
export async function startProgram(
  program: keyof ReturnType<typeof planPrograms>,
  {
    root,
    ...place
  }: Pick<StackPlace, "ports" | "certificates"> & { readonly sourceDirectory?: string; readonly root?: string },
  env: Env = {},
): Promise<ProcessGroup> {
  // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the test to find their tools
  const machine = process.env;
  const plan = planPrograms({ sourceDirectory: "", accountDirectory: "", machine, ...place })[program];
  return startPlanned({ ...plan, env: { ...plan.env, ...env } }, root);
}

/** Starts one program of the stack and waits until it is ready; kills it when it is not. */
export async function startPlanned(
  { name, launcher: command, env, readyUrl }: ProgramPlan,
  root = ROOT,
): Promise<ProcessGroup> {
  const program = await startProcess({ name, command: launcher(command, root), env, cwd: ROOT });
  try {
    await program.waitUntilReady(readyUrl, READY_TIMEOUT_MS);
  } catch (error) {
    program.kill();
    throw error;
  }
  return program;
}

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `command` in a POSIX shell in the folder `cwd`, for at most `timeout` milliseconds, by default a minute. */
export async function runCommand(
  command: string,
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv; readonly timeout?: number },
): Promise<CommandResult> {
  const child = spawn("/bin/sh", ["-c", command], {
    timeout: COMMAND_TIMEOUT_MS,
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const [[code], stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
