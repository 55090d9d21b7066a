// Real servers of the MongoDB wire protocol for tests: SecantusDB, which make test installs. Its data
// is in the folder of the test and survives a kill.
import { join } from "node:path";
import { HOST, type StoreOptions, StoreServer } from "./store-server.ts";
import { findTool } from "../processes/tools.ts";

/** The version that `make test` installs from the package `secantusdb`. */
const SECANTUS_VERSION = "0.7.0b3";

/** Memory of its cache: tests keep little. */
const CACHE_SIZE = "128M";

/** Starts a server with the data that `folder` has, if any. */
export async function startMongo(folder: string, options: StoreOptions = {}): Promise<StoreServer> {
  return StoreServer.run(
    folder,
    "secantusd-py",
    ({ port }) => [
      ...["--host", options.host ?? HOST, "--port", String(port), "--storage-path", join(folder, "secantus")],
      ...["--cache-size", CACHE_SIZE, "--log-level", "WARNING"],
    ],
    { ...options, programPath: findTool(`secantusdb-${SECANTUS_VERSION}`, "secantusd-py") },
  );
}

/** The URI with another database. */
export function withDatabase(uri: string, database: string): string {
  return uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/]+\/)[^?]*/, `$1${database}`);
}

/** The URI of a database on a port of this machine. */
export function mongoUri(port: number, database = "weir", host = HOST): string {
  return `mongodb://${host}:${port}/${database}?directConnection=true`;
}
