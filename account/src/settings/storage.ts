// The settings of where users and avatars are kept.
import type { EnvReader } from "@weir/common/settings/read-env";
import { REDACTED, type Secret } from "@weir/common/settings/secret";
import { type MediaSettings, readMedia } from "./media.ts";
import type { StoreSettings } from "../store/create-user-store.ts";

/** A URI of the MongoDB driver that names its database. */
const MONGODB_URI = /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/;

/** The choices that keep what they store on this machine. */
const LOCAL: readonly string[] = ["embedded", "local"];

/** The stores of users and avatars. */
export interface StorageSettings {
  readonly store: StoreSettings;
  readonly media: MediaSettings;
}

/** Reads the settings of both stores. Stores on this machine are for production only if that is allowed. */
export function readStorage(read: EnvReader, isProduction: boolean, warnings: string[]): StorageSettings {
  const store = read.oneOf("STORE", {
    default: "embedded",
    choices: ["embedded", "mongo"],
    effect:
      "Where users are kept: embedded is one file in DATA_DIR, for one process; mongo is the server of MONGODB_URI.",
  });
  const uri = read.secret("MONGODB_URI", {
    effect: "Server and database of STORE=mongo, such as mongodb://user:password@host:27017/weir.",
  });
  const media = readMedia(read, isProduction);
  const isAllowed = read.boolean("ALLOW_EMBEDDED", {
    default: false,
    effect: "Whether NODE_ENV=production takes the embedded store and local media.",
  });
  const local = Object.entries({ STORE: store, MEDIA: media.kind }).filter(([, value]) => LOCAL.includes(value));
  for (const [name, value] of isProduction && !isAllowed ? local : []) {
    const allowed = `${value} in production only together with ALLOW_EMBEDDED=true (for one process, with its data on this machine)`;
    read.problem(name, value, allowed);
  }
  if (!isProduction && local.length > 0) {
    const what = local.map(([name]) => (name === "STORE" ? "users" : "avatars")).join(" and ");
    warnings.push(`${what} are kept in DATA_DIR on this machine, which is not for production`);
  }
  return { store: storeOf(read, store, uri), media };
}

function storeOf(read: EnvReader, kind: StoreSettings["kind"], uri: Secret | undefined): StoreSettings {
  if (kind === "embedded") return { kind };
  if (uri === undefined || !MONGODB_URI.test(uri.reveal())) {
    const allowed =
      "with STORE=mongo, a URI that names its database: mongodb://host:27017/weir or mongodb+srv://host/weir";
    read.problem("MONGODB_URI", uri === undefined ? undefined : REDACTED, allowed);
    return { kind: "embedded" };
  }
  return { kind: "mongo", uri };
}
