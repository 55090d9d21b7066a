// Chooses the user store that the settings name.
import type { Secret } from "@weir/common/settings/secret";
import { EmbeddedUserStore } from "./embedded/embedded-user-store.ts";
import type { MongoDeps } from "./mongo/mongo-connection.ts";
import { MongoUserStore } from "./mongo/mongo-user-store.ts";
import type { UserStore } from "./user-store.ts";

/** Where users are kept. */
export type StoreSettings = { readonly kind: "embedded" } | { readonly kind: "mongo"; readonly uri: Secret };

/** How the store is opened. */
export interface CreateStoreOptions {
  /** DATA_DIR, which exists; of the embedded store only. */
  readonly dataDirectory: string;
  /** True for commands that only read next to a running service. */
  readonly isReadOnly?: boolean;
}

/** The store, not yet started. */
export function createUserStore(
  settings: StoreSettings,
  deps: MongoDeps,
  { dataDirectory, isReadOnly = false }: CreateStoreOptions,
): UserStore {
  switch (settings.kind) {
    case "embedded":
      return new EmbeddedUserStore(deps, { directory: dataDirectory, isReadOnly });
    case "mongo":
      return new MongoUserStore(deps, { uri: settings.uri });
  }
}
