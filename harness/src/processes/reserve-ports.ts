// Ports of 127.0.0.1 for servers that cannot choose one themselves. No other test takes one, in this
// or another process, also while its server is stopped.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Their range: below the ports of outgoing connections and of servers that listen on any (from 32768
 * on Linux, from 49152 by RFC 6335), so that none of these takes one.
 */
const RANGE = { first: 12_000, end: 32_000 } as const;

/** How many ports are tried for one. */
const ATTEMPTS_MAX = 1000;

/** Address of the sockets that mark a port as reserved; no server listens on it. */
const SIGN_ADDRESS = "127.0.0.2";

/**
 * A port of 127.0.0.1 that nothing listens on. No other call, in any process, returns it until this
 * process ends.
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
    sign.close(); // Another test has it.
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
