// The calls of signed-in users and those that need mail, and the commands of operators, on a document database.
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { mongoUri, startMongo } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, beforeAll } from "vitest";
import { describeMailCalls } from "./mail-calls.suite.ts";
import { describeProfileCalls } from "./profile-calls.suite.ts";
import { describeUserCommand } from "./run-user.suite.ts";
import { startService } from "./running-service.suite.ts";

const folder = makeTemporaryFolder();
let server: StoreServer;
let databases = 0;

beforeAll(async () => {
  server = await startMongo(folder.path);
});

afterAll(async () => {
  await server.stop();
  folder.remove();
});

/** The settings of an empty database. */
function emptyDatabase(): Readonly<Record<string, string>> {
  databases += 1;
  return { STORE: "mongo", MONGODB_URI: mongoUri(server.port, `weir${databases}`) };
}

describeProfileCalls("MongoDB", () => startService(emptyDatabase()));

describeMailCalls("MongoDB", (env) => startService({ ...emptyDatabase(), ...env }));

describeUserCommand("MongoDB", async () => {
  const database = emptyDatabase();
  return { service: await startService(database), env: { ...database, LOG_FORMAT: "json" } };
});
