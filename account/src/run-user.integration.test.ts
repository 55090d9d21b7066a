import { describeUserCommand } from "./run-user.suite.ts";
import { startService } from "./running-service.suite.ts";

describeUserCommand("the embedded store", async () => ({
  service: await startService(),
  env: { LOG_FORMAT: "json" },
}));
