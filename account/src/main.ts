// The program weir-account: reads the settings, starts the service, and stops it at a signal; or runs
// one of its commands.
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { describeSettings, parseSettings } from "./settings.ts";

/** Exit code for wrong arguments, as of other programs. */
const EXIT_USAGE = 2;

runProgram(
  {
    name: "weir-account",
    summary: "The account service: registration with an avatar, login, refresh, current user and logout.",
    usage: "[sweep [--force]]",
    settings: describeSettings,
  },
  async (context) => {
    const [command, ...flags] = context.args;
    if (command !== undefined) return await runCommand(command, flags, context);
    const settings = parseSettings(context.env);
    // Loaded only now, so that --help and a wrong setting are answered quickly.
    const { runService } = await import("./run-service.ts");
    await runService(settings, context);
    return 0;
  },
);

async function runCommand(command: string, flags: readonly string[], context: ProgramContext): Promise<number> {
  const isForced = flags[0] === "--force";
  if (command !== "sweep" || flags.length > (isForced ? 1 : 0)) {
    const given = JSON.stringify([command, ...flags].join(" "));
    context.stderr(`weir-account: Cannot use the arguments ${given}: allowed are none, sweep, and sweep --force\n`);
    return EXIT_USAGE;
  }
  const { runSweep } = await import("./sweep-command.ts");
  return await runSweep(parseSettings(context.env), { isForced }, context);
}
