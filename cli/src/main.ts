// The program `weir`: finds the command on the command line and runs it. Commands are loaded only when they are called, so that help is instant.
import { runProgram } from "@weir/common/lifecycle/program";
import type { ProgramContext } from "@weir/common/lifecycle/program";

/** Exit code for a command line that is not understood. */
const EXIT_USAGE = 2;

/** A command: what the help says of it, and how it is run with the arguments behind its name. */
interface Command {
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<(context: ProgramContext, args: readonly string[]) => Promise<number>>;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  [
    "check",
    {
      usage: "check [-o text|json] [--merge-domains] FILE…",
      summary: "Validates RateLimitConfig manifests and rule files, without any server. `weir check --help` tells more.",
      load: async () => (await import("./check/check-command.ts")).runCheck,
    },
  ],
]);

runProgram(
  {
    name: "weir",
    summary: "Works with the rate limits of Weir from a terminal.",
    usage: "COMMAND [ARGUMENT…]",
    flags: [...COMMANDS.values()].map(({ usage, summary }) => ({ flag: usage, effect: summary })),
  },
  async (context) => {
    const [name, ...args] = context.args;
    const command = name === undefined ? undefined : COMMANDS.get(name);
    if (command !== undefined) return (await command.load())(context, args);
    const known = [...COMMANDS.keys()].join(", ");
    const problem = name === undefined ? "no command given" : `unknown command ${JSON.stringify(name)}`;
    context.stderr(`weir: ${problem}, known are: ${known}; weir --help tells more\n`);
    return EXIT_USAGE;
  },
);
