// The program weir-account: reads the settings and starts the service, until a signal stops it, or
// runs the command that its first argument names.
import { runProgram } from "@weir/common/lifecycle/program";
import { parseCommand, USAGE } from "./command.ts";
import { describeSettings, parseSettings } from "./settings/settings.ts";

/** Exit code of a wrong command line. */
const EXIT_USAGE = 2;

runProgram(
  {
    name: "weir-account",
    summary: "The account service: registration with an avatar, login, sessions, profile and password.",
    usage: USAGE,
    settings: describeSettings,
  },
  async (context) => {
    const command = parseCommand(context.args);
    if (command.kind === "invalid") {
      context.stderr(`weir-account: ${command.message}\n`);
      return EXIT_USAGE;
    }
    const settings = parseSettings(context.env);
    // Loaded only now, so that --help and a wrong setting are answered quickly.
    switch (command.kind) {
      case "serve": {
        const { runService } = await import("./run-service.ts");
        await runService(settings, context);
        return 0;
      }
      case "backup": {
        const { runBackup } = await import("./run-backup.ts");
        await runBackup(settings, command.file, context);
        return 0;
      }
      case "sweep": {
        const { runSweep } = await import("./run-sweep.ts");
        return await runSweep(settings, command, context);
      }
      case "duplicates": {
        const { runDuplicates } = await import("./run-duplicates.ts");
        return await runDuplicates(settings, command.keep, context);
      }
      case "user": {
        const { runUser } = await import("./run-user.ts");
        return await runUser(settings, command, context);
      }
      case "check-login": {
        const { runLoginCheck } = await import("./run-login-check.ts");
        return await runLoginCheck(settings, command.url, context);
      }
    }
  },
);
