// The commands of the program `weir`, which is also the kubectl plugin `kubectl weir`. A command is
// loaded when it is called, so that help is instant.
import { type ProgramHost, nodeHost } from "@weir/common/lifecycle/host";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";

import { EXIT_OK, EXIT_USAGE } from "./command-line/exit-codes.ts";

/** A command: its line in the help, and how it runs with the arguments after its name. */
interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Its help, which loads nothing else. */
  readonly help: () => Promise<string>;
  readonly load: () => Promise<(context: CommandContext, args: readonly string[]) => Promise<number>>;
}

/** The parts of its program that a command uses. */
interface CommandContext extends ProgramContext {
  /** True if it works with the cluster of kubectl unless the command line names something else. */
  readonly usesCluster: boolean;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    status: {
      usage: "status [NAME] [-n NAMESPACE] [-A] [-o text|json|yaml]",
      summary:
        "Shows what is wrong with rate limits and data planes, and which pods rejected them, from the resources.",
      help: async () => (await import("./status/arguments.ts")).STATUS_HELP,
      load: async () => (await import("./status/status-command.ts")).runStatus,
    },
    rollout: {
      usage: "rollout [--server URL]… [--watch|--wait] [--fleet NAME] [-n NAMESPACE] [-o table|json] [RESOURCE]",
      summary:
        "Shows which pod has ACKed which version, and the status of each resource, from the control plane's rollout API.",
      help: async () => (await import("./rollout/arguments.ts")).ROLLOUT_HELP,
      load: async () => (await import("./rollout/rollout-command.ts")).runRollout,
    },
    top: {
      usage: "top [rules|keys] [--server URL]… [--fleet NAME] [--once] [-o table|json] [PATH…]",
      summary: "Shows what pods count now: the rules that reject most, and their keys with most rejections.",
      help: async () => (await import("./top/arguments.ts")).TOP_HELP,
      load: async () => (await import("./top/top-command.ts")).runTop,
    },
    console: {
      usage: "console [--server URL]… [--no-open]",
      summary: "Opens the page of the console: which rules reject now, what is not served, which pods wait or NACK.",
      help: async () => (await import("./console/arguments.ts")).CONSOLE_HELP,
      load: async () => (await import("./console/console-command.ts")).runConsole,
    },
    shadow: {
      usage: "shadow on|off {NAME…|--all} [-n NAMESPACE] [-A] [--protected]",
      summary: "Switches limits off now, and on again: rules in shadow mode count and limit nothing.",
      help: async () => (await import("./shadow/arguments.ts")).SHADOW_HELP,
      load: async () => (await import("./shadow/shadow-command.ts")).runShadow,
    },
    explain: {
      usage: "explain {--file FILE|--from-cluster} --domain NAME --descriptor KEY=VALUE[,KEY=VALUE…]",
      summary: "Shows which rule limits a request and why not the others, its counter key and window, without any pod.",
      help: async () => (await import("./explain/arguments.ts")).EXPLAIN_HELP,
      load: async () => (await import("./explain/explain-command.ts")).runExplain,
    },
    simulate: {
      usage: "simulate --file FILE --rate N/s [--burst N] [--for DURATION] [--descriptor KEY=VALUE[,KEY=VALUE…]]",
      summary: "Plays requests against a limit, without any server, and shows how many pass.",
      help: async () => (await import("./simulate/arguments.ts")).SIMULATE_HELP,
      load: async () => (await import("./simulate/simulate-command.ts")).runSimulate,
    },
    check: {
      usage: "check [-o text|json] [--merge-domains] [--skip-other-kinds] [--against PATH|cluster] FILE…",
      summary: "Validates manifests of RateLimitConfig and RateLimitService, and rule files, without any server.",
      help: async () => (await import("./check/arguments.ts")).CHECK_HELP,
      load: async () => (await import("./check/check-command.ts")).runCheck,
    },
    convert: {
      usage: "convert [--to manifest|rules] [--name NAME] [-n NAMESPACE] [--output-dir DIRECTORY] FILE…",
      summary: "Turns rule files into RateLimitConfig manifests and back, comments included, without any server.",
      help: async () => (await import("./convert/arguments.ts")).CONVERT_HELP,
      load: async () => (await import("./convert/convert-command.ts")).runConvert,
    },
  }),
);

/** Runs the program under the name that it is called by. */
export function runWeir(name: "weir" | "kubectl weir", host: ProgramHost = nodeHost()): void {
  const isBareHelp = host.args[0] === "help" && host.args.length === 1;
  const usesCluster = name === "kubectl weir";
  runProgram(
    {
      name,
      summary: "Works with the rate limits of Weir from a terminal.",
      usage: "COMMAND [ARGUMENT…]",
      flags: [
        ...[...COMMANDS.values()].map(({ usage, summary }) => ({ flag: usage, effect: summary })),
        { flag: "help [COMMAND]", effect: `Shows this, or all about one command; so does \`${name} COMMAND --help\`.` },
      ],
    },
    async (context) => {
      const [first = "", ...args] = context.args;
      const isHelp = first === "help";
      const command = COMMANDS.get(isHelp ? (args[0] ?? "") : first);
      if (command === undefined) return unknown(context, name, isHelp ? args[0] : first);
      if (!isHelp && !asksForHelp(args))
        // The context computes some of its properties.
        return (await command.load())(Object.assign(Object.create(context) as ProgramContext, { usesCluster }), args);
      context.stdout((await command.help()).replaceAll(/^Usage: weir /gm, `Usage: ${name} `));
      return EXIT_OK;
    },
    isBareHelp ? { ...host, args: ["--help"] } : host,
  );
}

/** Returns true if the arguments ask for help; after `--` there are no flags. */
function asksForHelp(args: readonly string[]): boolean {
  const flags = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length);
  return flags.includes("--help") || flags.includes("-h");
}

function unknown(context: ProgramContext, program: string, name: string | undefined): number {
  const known = [...COMMANDS.keys()].join(", ");
  const problem = name === undefined || name === "" ? "no command given" : `unknown command ${JSON.stringify(name)}`;
  context.stderr(`${program}: ${problem}, known are: ${known}; see ${program} --help\n`);
  return EXIT_USAGE;
}
