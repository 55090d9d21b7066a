// Ports for servers that cannot choose one themselves and tell.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Where they are looked for: below those that systems give to outgoing connections and to whoever asks for any (from 32768 on Linux, from 49152 by RFC 6335),
 * so that none of these takes one whose server is away.
 */
const RANGE = { first: 20_000, end: 32_000 } as const;

/** How many ports are tried for one. */
const ATTEMPTS_MAX = 1000;

/**
 * As many different ports of 127.0.0.1 as asked for. Until this process ends, no other process that asks here is given one of them, whether its server has not
 * begun yet, listens or is away: the UDP port of the same number is held as a sign of that.
 */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let attempt = 0; ports.length < count; attempt += 1) {
    if (attempt === ATTEMPTS_MAX * count) throw new Error(`Cannot find ${count} free ports from ${RANGE.first} to ${RANGE.end}`);
    const port = randomInt(RANGE.first, RANGE.end);
    if (await reserve(port)) ports.push(port);
  }
  return ports;
}

async function reserve(port: number): Promise<boolean> {
  const sign = createSocket("udp4");
  try {
    sign.bind({ port, address: "127.0.0.1", exclusive: true });
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
