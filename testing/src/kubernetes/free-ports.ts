// Ports for servers that cannot choose one themselves and tell.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** As many different ports of 127.0.0.1 as asked for, free at this moment. Another process may take one before it is used. */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
