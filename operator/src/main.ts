// The program weir-operator: reads the settings, runs the operator and stops it in order.
import { runProgram } from "@weir/common/lifecycle/program";

import { describeSettings, parseSettings } from "./settings.ts";

runProgram(
  {
    name: "weir-operator",
    summary:
      "Writes the statuses of RateLimitConfigs and runs the data planes of RateLimitServices, in a Kubernetes cluster.",
    settings: describeSettings,
  },
  async (context) => {
    const settings = parseSettings(context.env);
    // Large packages take time to load: not for --help, and not before the settings are valid.
    const { runOperator } = await import("./run-operator.ts");
    const { createParts } = await import("./parts.ts");
    await runOperator(context, settings, createParts);
  },
);
