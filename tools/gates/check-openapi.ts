// The gate `openapi`: the OpenAPI document of the account service, by the strict rules of Redocly.
import { runCommand } from "../run-command.ts";

// Without its reports over the network.
const env = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
const command = ["redocly", "lint", "--extends=recommended-strict", "account/openapi.json"];
const { code } = await runCommand(command, { output: "pass", env });
process.exitCode = code;
