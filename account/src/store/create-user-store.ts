// Chooses the user store that the settings name.
import type { Secret } from "@weir/common/settings/secret";
import { EmbeddedUserStore } from "./embedded/embedded-user-store.ts";
import type { StoreAccess } from "./embedded/messages.ts";
import type { MongoDeps } from "./mongo/mongo-connection.ts";
import { MongoUserStore } from "./mongo/mongo-user-store.ts";
import type { UserStore } from "./user-store.ts";

/** The store of users. */
export type StoreSettings = { readonly kind: "embedded" } | { readonly kind: "mongo"; readonly uri: Secret };

/** How the store is opened. */
export interface CreateStoreOptions {
  /** DATA_DIR, which exists; of the embedded store only. */
  readonly dataDirectory: string;
  /** Of the embedded store; commands use it next to a running service. */
  readonly access?: StoreAccess;
}

/** The store, not yet started. */
export function createUserStore(
  settings: StoreSettings,
  deps: MongoDeps,
  { dataDirectory, access = "own" }: CreateStoreOptions,
): UserStore {
  switch (settings.kind) {
    case "embedded":
      return new EmbeddedUserStore(deps, { directory: dataDirectory, access });
    case "mongo":
      return new MongoUserStore(deps, { uri: settings.uri });
  }
}
