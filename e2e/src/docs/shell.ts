// Runs the commands of a code block in one bash, and says how they differ from what the page shows.
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { eventually } from "@weir/harness/processes/eventually";
import type { CodeBlock } from "@weir/harness/pages/code-blocks";
import { startProcess, startProgram } from "@weir/harness/processes/start-process";
import { differenceOfOutput, readConsoleSteps } from "./console.ts";
import type { Fixture } from "./fixtures.ts";

/**
 * Longest time of one block, in milliseconds: more than the five minutes that `kubectl wait` has in pages, so that it
 * ends first and reports what it waited for.
 */
export const BLOCK_TIMEOUT_MS = 330_000;

/** Longest time of the command that shows what the servers did, in milliseconds. */
const STATE_TIMEOUT_MS = 20_000;

/** Longest part of the output of commands that a failure shows, in characters: the end says why. */
const OUTPUT_SHOWN_MAX = 2000;

/** Begins the line after the output of a command, which then has its number and exit status. */
const MARK = "@@weir-docs";

/** Runs the commands of a block; throws with the first that fails or prints something else, and with the state. */
export async function runBlock(block: CodeBlock, fixture: Fixture): Promise<void> {
  try {
    await runCommands(block, fixture);
  } catch (error) {
    if (fixture.showState === undefined) throw error;
    const { output } = await runScript(fixture.showState, fixture, STATE_TIMEOUT_MS);
    throw new Error(`${(error as Error).message}\n\n${output}`, { cause: error });
  }
}

async function runCommands(block: CodeBlock, fixture: Fixture): Promise<void> {
  for (const directive of block.directives) {
    if (directive.kind === "before") await runPlain(directive.command, fixture);
  }
  if (block.language === "console") await runConsole(block.text, fixture);
  else await runPlain(block.text, fixture);
}

/** Starts the command of a block that keeps running, and resolves when the URL answers. */
export async function startBlock(block: CodeBlock, url: string, fixture: Fixture): Promise<ProcessGroup> {
  const command = fixture.withPorts(block.text);
  const { folder: cwd, env } = fixture;
  const started = await startProcess({ name: command, command: "bash", args: ["-ec", command], env, cwd });
  try {
    await eventually(`${url} to answer`, async () => {
      if (!started.isRunning()) throw new Error(`the command ended: ${started.lastLines().join("\n")}`);
      await (await fetch(fixture.withPorts(url))).arrayBuffer();
    });
  } catch (error) {
    started.kill();
    throw error;
  }
  return started;
}

async function runPlain(text: string, fixture: Fixture): Promise<void> {
  const { code, output } = await runScript(`set -eo pipefail\n${fixture.withPorts(text)}\n`, fixture);
  if (code !== 0) throw new Error(`The commands ended with ${code}:\n${text}\n\n${output.slice(-OUTPUT_SHOWN_MAX)}`);
}

async function runConsole(text: string, fixture: Fixture): Promise<void> {
  const steps = readConsoleSteps(text);
  const commands = steps.map(({ command }, index) =>
    // The status of the command before, so that a page can show `echo $?`.
    ["(exit $weir_status)", command, "weir_status=$?", `printf '\\n${MARK} ${index} %d\\n' $weir_status`].join("\n"),
  );
  const { output } = await runScript(fixture.withPorts(["weir_status=0", ...commands].join("\n")), fixture);
  let rest = output;
  for (const [index, { command, output: shown }] of steps.entries()) {
    const end = new RegExp(`\\n${MARK} ${index} (?<status>\\d+)\\n`).exec(rest);
    if (end === null) throw new Error(`The shell ended in:\n${command}\n\n${rest}`);
    const printed = rest.slice(0, end.index);
    rest = rest.slice(end.index + end[0].length);
    const difference =
      shown === "" ? failureOf(end.groups!["status"]!) : differenceOfOutput(fixture.withPorts(shown), printed);
    if (difference !== undefined)
      throw new Error(`${command}\n\n${difference}\n\nIt prints:\n${printed.slice(-OUTPUT_SHOWN_MAX)}`);
  }
}

/** A command whose output the page leaves out may print anything, and must succeed. */
function failureOf(status: string): string | undefined {
  return status === "0" ? undefined : `the command ended with ${status}`;
}

async function runScript(script: string, { folder: cwd, env }: Fixture, timeoutMs = BLOCK_TIMEOUT_MS) {
  const shell = startProgram("bash", ["-c", `exec 2>&1\n${script}`], env, { cwd });
  const timer = setTimeout(() => shell.kill(), timeoutMs);
  const code = await shell.code;
  clearTimeout(timer);
  return { code, output: shell.output() };
}
