// Runs the Helm that tools/test/test-setup.ts builds.
import { join } from "node:path";

import { type ProgramResult, runToEnd } from "../processes/run-to-end.ts";
import { findTool } from "../processes/tools.ts";

/** The version that tools/test/test-setup.ts builds. */
const HELM_VERSION = "3.18.6";

/** The version of kubeconform that tools/test/test-setup.ts builds. */
const KUBECONFORM_VERSION = "0.7.0";

/** Folder of the charts. */
export const CHARTS = join(import.meta.dirname, "..", "..", "..", "charts");

/** Runs helm; does not throw when it fails. `input` is its standard input; `env`, if given, its whole environment. */
export async function helm(
  args: readonly string[],
  input?: string,
  env?: Readonly<Record<string, string>>,
): Promise<ProgramResult> {
  return await runToEnd(findTool(`helm-${HELM_VERSION}`, "helm"), args, input, env);
}

/** Runs kubeconform; does not throw when it fails. */
export async function kubeconform(args: readonly string[], input: string): Promise<ProgramResult> {
  return await runToEnd(findTool(`kubeconform-${KUBECONFORM_VERSION}`, "kubeconform"), args, input);
}
