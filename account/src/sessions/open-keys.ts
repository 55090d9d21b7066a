// Opens the keys that the settings name: those that sign tokens, and the one of account labels.
import { createSecretKey, type KeyObject } from "node:crypto";
import type { Log } from "@weir/common/log/log";
import type { Secret } from "@weir/common/settings/secret";
import { generatedKeys, generatedLabelSecret } from "./generated-secrets.ts";
import { keysOfSecrets } from "./key-ring.ts";
import { fixedKeys, type KeySourcePart, watchedKeys } from "./key-source.ts";

/** The source of the keys of tokens. */
export type KeySource =
  | { readonly kind: "secrets"; readonly access: Secret; readonly refresh: Secret }
  | { readonly kind: "file"; readonly path: string }
  /** Made at the first start and kept in DATA_DIR; for development. */
  | { readonly kind: "generated" };

/** The keys of tokens. Throws TOKEN_KEYS_INVALID or DATA_DIRECTORY_UNUSABLE. */
export function openTokenKeys(source: KeySource, dataDirectory: string, log: Log): KeySourcePart {
  switch (source.kind) {
    case "secrets":
      return fixedKeys(keysOfSecrets(source.access.reveal(), source.refresh.reveal()));
    case "file":
      return watchedKeys(source.path, { log });
    case "generated":
      return fixedKeys(generatedKeys(dataDirectory));
  }
}

/** The key of account labels: of `secret`, or generated. Throws like `openTokenKeys`. */
export function openLabelKey(secret: Secret | undefined, dataDirectory: string): KeyObject {
  return createSecretKey(secret?.reveal() ?? generatedLabelSecret(dataDirectory), "utf8");
}
