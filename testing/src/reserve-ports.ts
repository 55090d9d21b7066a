// Ports of 127.0.0.1 for servers that cannot choose one themselves and tell, such that no other
// test takes one: not in another process, and not while the server is away.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Where they are looked for: below those that systems give to outgoing connections and to whoever
 * asks for any (from 32768 on Linux, from 49152 by RFC 6335), so that none of these takes one whose
 * server is away. The buses of Redis clusters are at other ports, which are reserved, too.
 */
const RANGE = { first: 12_000, end: 32_000 } as const;

/** How many ports are tried for one. */
const ATTEMPTS_MAX = 1000;

/**
 * Where a sign that a port is taken stands: an address of this machine that no server listens on,
 * so that it is in nobody's way, UDP servers included.
 */
const SIGN_ADDRESS = "127.0.0.2";

/**
 * A port of 127.0.0.1 that nothing listens on. Until this process ends, nobody else who asks here
 * is given it, whether its server has not begun yet, listens or is away.
 *
 * @throws Error when none is free
 */
export async function reservePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(RANGE.first, RANGE.end);
    if (await reserve(port)) return port;
  }
  throw new Error(`Cannot find a free port from ${RANGE.first} to ${RANGE.end}`);
}

/** As many different ports as asked for, as {@link reservePort} gives them. */
export async function reservePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await reservePort());
  return ports;
}

async function reserve(port: number): Promise<boolean> {
  const sign = createSocket("udp4");
  try {
    sign.bind({ port, address: SIGN_ADDRESS, exclusive: true });
    await once(sign, "listening");
    await listenOnce(port);
  } catch {
    sign.close(); // It is somebody else's.
    return false;
  }
  sign.unref();
  return true;
}

async function listenOnce(port: number): Promise<void> {
  const server = createServer().listen({ port, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  await once(server.close(), "close");
}
