// The program `weir`: runs the command on the command line. A command is loaded when it is called,
// so that help is instant.
import { nodeHost } from "@weir/common/lifecycle/host";
import { runProgram } from "@weir/common/lifecycle/program";
import type { ProgramContext } from "@weir/common/lifecycle/program";

import { EXIT_OK, EXIT_USAGE } from "./command-line/exit-codes.ts";

/** A command: its line in the help, and how it runs with the arguments after its name. */
interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Its help, which loads nothing else. */
  readonly help: () => Promise<string>;
  readonly load: () => Promise<(context: ProgramContext, args: readonly string[]) => Promise<number>>;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    check: {
      usage: "check [-o text|json] [--merge-domains] [--skip-other-kinds] FILE…",
      summary: "Validates RateLimitConfig manifests and rule files, without any server.",
      help: async () => (await import("./check/arguments.ts")).CHECK_HELP,
      load: async () => (await import("./check/check-command.ts")).runCheck,
    },
    explain: {
      usage: "explain --file FILE --domain NAME --descriptor KEY=VALUE[,KEY=VALUE…]",
      summary:
        "Shows which rule limits a request and why not the others, its counter key and window, without any server.",
      help: async () => (await import("./explain/arguments.ts")).EXPLAIN_HELP,
      load: async () => (await import("./explain/explain-command.ts")).runExplain,
    },
    convert: {
      usage: "convert [--to manifest|rules] [--name NAME] [-n NAMESPACE] [--output-dir DIRECTORY] FILE…",
      summary: "Turns rule files into RateLimitConfig manifests and back, comments included, without any server.",
      help: async () => (await import("./convert/arguments.ts")).CONVERT_HELP,
      load: async () => (await import("./convert/convert-command.ts")).runConvert,
    },
    rollout: {
      usage: "rollout [--server URL]… [--watch|--wait] [--fleet NAME] [-n NAMESPACE] [-o table|json] [RESOURCE]",
      summary:
        "Shows which pod has ACKed which version, and the status of each resource, from the control plane's rollout API.",
      help: async () => (await import("./rollout/arguments.ts")).ROLLOUT_HELP,
      load: async () => (await import("./rollout/rollout-command.ts")).runRollout,
    },
  }),
);

const host = nodeHost();
const isBareHelp = host.args[0] === "help" && host.args.length === 1;

runProgram(
  {
    name: "weir",
    summary: "Works with the rate limits of Weir from a terminal.",
    usage: "COMMAND [ARGUMENT…]",
    flags: [
      ...[...COMMANDS.values()].map(({ usage, summary }) => ({ flag: usage, effect: summary })),
      { flag: "help [COMMAND]", effect: "Shows this, or all about one command; so does `weir COMMAND --help`." },
    ],
  },
  async (context) => {
    const [name = "", ...args] = context.args;
    const isHelp = name === "help";
    const command = COMMANDS.get(isHelp ? (args[0] ?? "") : name);
    if (command === undefined) return unknown(context, isHelp ? args[0] : name);
    if (!isHelp && !asksForHelp(args)) return (await command.load())(context, args);
    context.stdout(await command.help());
    return EXIT_OK;
  },
  isBareHelp ? { ...host, args: ["--help"] } : host,
);

/** Whether the arguments ask for help; after `--` there are no flags. */
function asksForHelp(args: readonly string[]): boolean {
  const flags = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length);
  return flags.includes("--help") || flags.includes("-h");
}

function unknown(context: ProgramContext, name: string | undefined): number {
  const known = [...COMMANDS.keys()].join(", ");
  const problem = name === undefined || name === "" ? "no command given" : `unknown command ${JSON.stringify(name)}`;
  context.stderr(`weir: ${problem}, known are: ${known}; see weir --help\n`);
  return EXIT_USAGE;
}
