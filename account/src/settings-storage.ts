// The settings of where users and avatars are kept.
import type { EnvReader } from "@weir/common/settings/read-env";
import { REDACTED } from "@weir/common/settings/secret";
import type { StoreSettings } from "./store/create-user-store.ts";

/** A URI of the MongoDB driver that names its database. */
const MONGODB_URI = /^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/;

/** Reads where users are kept. What is on this machine is for production only where that is allowed. */
export function readStorage(read: EnvReader, isProduction: boolean, warnings: string[]): StoreSettings {
  const store = read.oneOf("STORE", {
    default: "embedded",
    choices: ["embedded", "mongo"],
    effect:
      "Where users are kept: embedded is one file in DATA_DIR, for one process; mongo is the server of MONGODB_URI.",
  });
  const uri = read.secret("MONGODB_URI", {
    effect: "Server and database of STORE=mongo, such as mongodb://user:password@host:27017/weir.",
  });
  const media = read.oneOf("MEDIA", {
    default: "local",
    choices: ["local"],
    effect: "Where avatars are kept: local is a folder in DATA_DIR, served under /media/.",
  });
  const isAllowed = read.boolean("ALLOW_EMBEDDED", {
    default: false,
    effect: "Whether NODE_ENV=production takes the embedded store and local media.",
  });
  const onThisMachine = Object.entries({ STORE: store, MEDIA: media }).filter(([, value]) => value !== "mongo");
  for (const [name, value] of isProduction && !isAllowed ? onThisMachine : []) {
    const allowed = `${value} in production only together with ALLOW_EMBEDDED=true (for one process, with its data on this machine)`;
    read.problem(name, value, allowed);
  }
  if (!isProduction) {
    const what = store === "mongo" ? "avatars" : "users and avatars";
    warnings.push(`${what} are kept in DATA_DIR on this machine, which is not for production`);
  }
  if (store === "embedded") return { kind: "embedded" };
  if (uri === undefined || !MONGODB_URI.test(uri.reveal())) {
    const allowed =
      "with STORE=mongo, a URI that names its database: mongodb://host:27017/weir or mongodb+srv://host/weir";
    read.problem("MONGODB_URI", uri === undefined ? undefined : REDACTED, allowed);
    return { kind: "embedded" };
  }
  return { kind: "mongo", uri };
}
