// The program behind `make run`: starts the whole system on this machine, prints a guide, and stops
// everything at the end.
import { join } from "node:path";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { runProgram } from "@weir/common/lifecycle/program";
import { DevError } from "./errors.ts";
import { describeStackSettings, parseStackSettings } from "./settings.ts";
import { Stack } from "./stack.ts";
import { Terminal } from "./output/terminal.ts";

/** Root of the repository, from dist as well as from src. */
const ROOT = join(import.meta.dirname, "..", "..");

runProgram(
  {
    name: "make run",
    summary:
      "Runs a control plane, a rate limit pod and the account service on this machine, with certificates and data of their own.",
    settings: describeStackSettings,
  },
  runStack,
);

async function runStack(context: ProgramContext): Promise<number> {
  const settings = parseStackSettings(context.env);
  const terminal = new Terminal({ write: (text) => context.stdout(text), clock: Date.now });
  const stack = new Stack({ terminal }, { settings, root: ROOT, machine: context.env });
  // However this process ends, a second Ctrl-C included, nothing is left behind; the guard covers
  // what no handler can (SIGKILL).
  process.on("exit", () => stack.kill());

  const started = stack.start();
  // A start that fails because a part was stopped is expected; one that fails by itself is the
  // outcome below.
  const settled = started.catch(() => undefined);
  try {
    const outcome = await Promise.race([interruption(context), stack.failed, started.then(() => stack.failed)]);
    if (outcome === "interrupted") terminal.plain("\nStopping; Ctrl-C once more kills everything immediately");
    else context.stderr(`\n${outcome.message}\nStopping the rest\n`);
    await stack.stop();
    await settled;
    terminal.plain("Everything is stopped");
    return outcome === "interrupted" ? 0 : 1;
  } catch (error) {
    await stack.stop();
    // Several lines, which the one-line report of other errors would run together.
    if (!(error instanceof DevError)) throw error;
    context.stderr(`${error.message}\n`);
    return 1;
  }
}

function interruption(context: ProgramContext): Promise<"interrupted"> {
  return new Promise((resolve) => {
    context.signal.addEventListener("abort", () => resolve("interrupted"), { once: true });
    context.onHangup(() => resolve("interrupted")); // The terminal was closed.
  });
}
