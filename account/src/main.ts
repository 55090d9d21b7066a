// The program weir-account: reads the settings, starts the service, and stops it at a signal.
import { runProgram } from "@weir/common/lifecycle/program";
import { describeSettings, parseSettings } from "./settings.ts";

runProgram(
  {
    name: "weir-account",
    summary: "The account service: registration with an avatar, login, refresh, current user and logout.",
    settings: describeSettings,
  },
  async (context) => {
    const settings = parseSettings(context.env);
    // Loaded only now, so that --help and a wrong setting are answered quickly.
    const { runService } = await import("./run-service.ts");
    await runService(settings, context);
  },
);
