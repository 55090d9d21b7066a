// Runs the Helms that tools/test/test-setup.ts builds.
import { join } from "node:path";

import { type ProgramResult, runToEnd } from "../processes/run-to-end.ts";
import { findTool } from "../processes/tools.ts";

/** Folders of the versions that tools/test/test-setup.ts builds. */
const FOLDERS = { 3: "helm-3.18.6", 4: "helm4-4.3.1" } as const;

/** A major version of Helm. */
export type HelmVersion = keyof typeof FOLDERS;

/** Every version that the charts are for. */
export const HELM_VERSIONS: readonly HelmVersion[] = [3, 4];

/** The version of kubeconform that tools/test/test-setup.ts builds. */
const KUBECONFORM_VERSION = "0.7.0";

/** Folder of the charts. */
export const CHARTS = join(import.meta.dirname, "..", "..", "..", "charts");

/** How helm runs. */
export interface HelmOptions {
  /** By default 3. */
  readonly version?: HelmVersion;
  /** Its whole environment; by default that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs helm; does not throw when it fails. `input` is its standard input. */
export async function helm(
  args: readonly string[],
  input?: string,
  { version = 3, env }: HelmOptions = {},
): Promise<ProgramResult> {
  return await runToEnd(findTool(FOLDERS[version], "helm"), args, input, env);
}

/** Runs kubeconform; does not throw when it fails. */
export async function kubeconform(args: readonly string[], input: string): Promise<ProgramResult> {
  return await runToEnd(findTool(`kubeconform-${KUBECONFORM_VERSION}`, "kubeconform"), args, input);
}

/** The flags of helm that set values. */
export function setFlags(values: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => ["--set-json", `${key}=${JSON.stringify(value)}`]);
}
