// Runs the Helm that tools/test/test-setup.ts builds.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { findTool } from "../processes/tools.ts";

/** The version that tools/test/test-setup.ts builds. */
const HELM_VERSION = "3.18.6";

/** The version of kubeconform that tools/test/test-setup.ts builds. */
const KUBECONFORM_VERSION = "0.7.0";

/** Most output of one command, in bytes: the custom resources are 250 kB. */
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** Folder of the charts. */
export const CHARTS = join(import.meta.dirname, "..", "..", "..", "charts");

/** The result of a command. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm; does not throw when it fails. `input` is its standard input; `env`, if given, its whole environment. */
export async function helm(
  args: readonly string[],
  input = "",
  env?: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  return await run(findTool(`helm-${HELM_VERSION}`, "helm"), args, input, env);
}

/** Runs kubeconform; does not throw when it fails. */
export async function kubeconform(args: readonly string[], input: string): Promise<CommandResult> {
  return await run(findTool(`kubeconform-${KUBECONFORM_VERSION}`, "kubeconform"), args, input);
}

async function run(
  command: string,
  args: readonly string[],
  input: string,
  env?: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const running = promisify(execFile)(command, args, {
    maxBuffer: OUTPUT_MAX_BYTES,
    ...(env !== undefined && { env }),
  });
  running.child.stdin?.on("error", () => {
    // A command that fails early does not read its input; its exit code says so.
  });
  running.child.stdin?.end(input);
  try {
    return { code: 0, ...(await running) };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: number | string; stdout?: string; stderr?: string };
    if (typeof code !== "number") throw error; // It could not even be started.
    return { code, stdout, stderr };
  }
}
