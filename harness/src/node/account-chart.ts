// The account service of its chart on a node with Weir: accounts in a MongoDB server of the test, throttled by the data
// plane of the chart `weir`.
import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { CHARTS, setFlags } from "../helm/helm.ts";
import { mongoUri } from "../servers/mongo.ts";
import type { StoreServer } from "../servers/store-server.ts";
import { type NodeAccess, SYSTEM_NAMESPACE } from "./node-access.ts";

/** Avatars end with the pod; hashes are expensive, one at a time. */
const VALUES = {
  publicOrigin: "https://account.example.com",
  trustProxy: "1",
  store: { type: "mongo", mongo: { existingSecret: "weir-account-mongo" } },
  persistence: { enabled: false },
  rateLimit: { address: `ratelimit.${SYSTEM_NAMESPACE}.svc:8081`, failure: "open", timeout: "5s" },
  settings: { BCRYPT_COST: "14", BCRYPT_CONCURRENCY: "1" },
};

/** Installs the chart of the folder `charts`, with further flags of helm; nothing is awaited. */
export async function installAccounts(
  node: NodeAccess,
  mongo: StoreServer,
  charts = CHARTS,
  ...flags: readonly string[]
): Promise<void> {
  const names = ["ACCESS_TOKEN_SECRET", "REFRESH_TOKEN_SECRET", "ACCOUNT_LABEL_SECRET"];
  await node.makeSecrets(SYSTEM_NAMESPACE, {
    "weir-account-keys": Object.fromEntries(names.map((name) => [name, randomUUID()])),
    "weir-account-mongo": { MONGODB_URI: mongoUri(mongo.port, "weir", mongo.host) },
  });
  await node.helm("install", "weir-account", join(charts, "weir-account"), ...setFlags(VALUES), ...flags);
}
