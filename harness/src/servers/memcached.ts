// Real memcached servers for tests, on a port or on a unix socket.
import { type StoreOptions, HOST, StoreServer } from "./store-server.ts";

/** How to start a memcached. */
export interface MemcachedOptions extends StoreOptions {
  /** Where it listens; by default on a port. */
  readonly listensOn?: "port" | "socket";
}

/** Starts an empty memcached. */
export async function startMemcached(
  folder: string,
  { listensOn = "port", ...options }: MemcachedOptions = {},
): Promise<StoreServer> {
  const user = process.getuid?.() === 0 ? ["-u", "root"] : []; // Without a user it does not start as root.
  return StoreServer.run(
    folder,
    "memcached",
    (port, socketPath) => [
      ...user,
      ...(listensOn === "port" ? ["-l", HOST, "-p", String(port), "-U", "0"] : ["-s", socketPath]),
    ],
    options,
    listensOn,
  );
}
