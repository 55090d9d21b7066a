// Test equipment: ports of 127.0.0.1 for servers that cannot choose one themselves, such that no other test takes one: not in another process, and not
// while the server is away.
import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/** Where ports are taken from: below those that systems give to whoever asks for any port, and to connections. */
const PORT_FIRST = 12_000;
const PORT_LAST = 20_000;

/** Whoever listens here on a port has it reserved on 127.0.0.1: another address of this machine, so that it is in nobody's way. */
const RESERVING_ADDRESS = "127.0.0.2";

/** What reserves: it lives as long as the process. */
const reservations: Server[] = [];

/** A port that nothing listens on, and that nobody who asks here is given again. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORT_FIRST, PORT_LAST);
    if (await reserve(port)) return port;
  }
}

/** Reserves a port; false when it is another's. */
async function reserve(port: number): Promise<boolean> {
  const reservation = await listen(port, RESERVING_ADDRESS);
  if (reservation === undefined) return false;
  const server = await listen(port, "127.0.0.1");
  if (server === undefined) {
    reservation.close();
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  reservations.push(reservation.unref());
  return true;
}

function listen(port: number, host: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", () => resolve(undefined));
    server.listen(port, host, () => resolve(server));
  });
}
