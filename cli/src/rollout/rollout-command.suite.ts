// Runs `weir rollout` in the process of a test and keeps what it prints.
import { type RolloutEnvironment, runRollout } from "./rollout-command.ts";
import { CONNECTED_MS } from "./rollout.suite.ts";

/** Longest wait for anything, in milliseconds. */
export const WAIT_MS = 30_000;

/** A run of the command. */
export interface Run {
  readonly ended: Promise<number>;
  readonly output: { stdout: string; stderr: string };
  readonly abort: AbortController;
}

/** What a test changes of the process around the command. */
export interface Surroundings extends Partial<RolloutEnvironment> {
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command in this process; no name has an address unless the test says so. */
export function run(args: readonly string[], { env = {}, ...changed }: Surroundings = {}): Run {
  const output = { stdout: "", stderr: "" };
  const abort = new AbortController();
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
    signal: abort.signal,
    env,
  };
  const environment: RolloutEnvironment = {
    screen: () => undefined,
    nowMs: () => CONNECTED_MS + 90_000,
    random: () => 0,
    answerTimeoutMs: WAIT_MS,
    lookupIntervalMs: WAIT_MS,
    resolve: () => Promise.resolve([]),
    ...changed,
  };
  return { ended: runRollout(context, args, environment), output, abort };
}
