// Real servers of the MongoDB wire protocol for tests: SecantusDB, which make test installs. Its data
// is in the folder of the test and survives a kill.
import { accessSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { HOST, type StoreOptions, StoreServer } from "./store-server.ts";

/** The version that `make test` installs from the package `secantusdb`. */
const SECANTUS_VERSION = "0.7.0b3";

/** Memory of its cache: tests keep little. */
const CACHE_SIZE = "128M";

/** Starts a server with the data that `folder` has, if any. */
export async function startMongo(folder: string, options: StoreOptions = {}): Promise<StoreServer> {
  return StoreServer.run(
    folder,
    "secantusd-py",
    (port) => [
      ...["--host", HOST, "--port", String(port), "--storage-path", join(folder, "secantus")],
      ...["--cache-size", CACHE_SIZE, "--log-level", "WARNING"],
    ],
    { ...options, programPath: findProgram() },
  );
}

/** The URI of a database on a port of this machine. */
export function mongoUri(port: number, database = "weir"): string {
  return `mongodb://${HOST}:${port}/${database}?directConnection=true`;
}

function findProgram(): string {
  // eslint-disable-next-line no-restricted-syntax -- the cache of the machine, where every tool of the tests is found
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const path = join(cache, "weir", `secantusdb-${SECANTUS_VERSION}`, "bin", "secantusd-py");
  try {
    accessSync(path);
  } catch (cause) {
    throw new Error(`Cannot find ${path}: make test installs it`, { cause });
  }
  return path;
}
