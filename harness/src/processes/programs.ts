// Starts the programs of the repository for tests, on free ports, and runs command lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";
import { planPrograms, type ProgramPlan, type StackPlace } from "@weir/dev/setup/programs";
import { boundCommand } from "./bound-command.ts";
import { reservePorts } from "./reserve-ports.ts";
import { type Program, startProcess, startProgram } from "./start-process.ts";
import { machine } from "./tools.ts";

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

/** Starts a program of this repository from its source, such as `ratelimit/src/main.ts`. */
export function startSource(path: string, env: Env = {}, args: readonly string[] = []): Program {
  return startProgram(process.execPath, ["--conditions=source", join(ROOT, path), ...args], env);
}

/** Starts one program of the stack at `place`, by default of this checkout, and waits until it is ready. */
export async function startStackProgram(
  program: keyof ReturnType<typeof planPrograms>,
  {
    root,
    ...place
  }: Pick<StackPlace, "ports" | "certificates"> & { readonly sourceDirectory?: string; readonly root?: string },
  env: Env = {},
): Promise<Program> {
  const plan = planPrograms({ sourceDirectory: "", accountDirectory: "", machine: machine(), ...place })[program];
  return startPlanned({ ...plan, env: { ...plan.env, ...env } }, root);
}

/** Starts one program of the stack and waits until it is ready; kills it when it is not. */
export async function startPlanned(
  { name, launcher: command, env, readyUrl }: ProgramPlan,
  root = ROOT,
): Promise<Program> {
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
  const child = spawn(...boundCommand("/bin/sh", ["-c", command]), {
    timeout: COMMAND_TIMEOUT_MS,
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const [[code], stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
