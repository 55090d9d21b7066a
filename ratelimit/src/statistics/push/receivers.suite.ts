// Statistics servers for tests: they listen on a port of 127.0.0.1 and keep the lines they get.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** A server under test. */
export interface Receiver {
  readonly port: number;
  /** Whole lines in the order in which they came, without line ends. */
  readonly lines: readonly string[];
  /** Largest packet so far, in bytes; of TCP, nothing of interest. */
  largestBytes(): number;
  close(): Promise<void>;
}

/** Opens a UDP server. */
export async function openUdpReceiver(): Promise<Receiver> {
  const socket = createSocket("udp4");
  const lines: string[] = [];
  let largestBytes = 0;
  socket.on("message", (packet) => {
    largestBytes = Math.max(largestBytes, packet.length);
    lines.push(...packet.toString().split("\n").slice(0, -1));
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    lines,
    largestBytes: () => largestBytes,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Pause of a slow server after everything that it reads, in milliseconds. */
const SLOW_PAUSE_MS = 5;

/**
 * Opens a TCP server, on any port unless one is named. One that is deaf accepts connections and
 * never reads; one that is slow pauses after each reading.
 */
export async function openTcpReceiver({ port = 0, isDeaf = false, isSlow = false } = {}): Promise<Receiver> {
  const lines: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: isDeaf }, (socket) => {
    let begun = "";
    sockets.add(socket);
    socket.on("error", () => undefined); // The sink may break the connection off; its end is all that matters.
    socket.on("close", () => sockets.delete(socket));
    if (isDeaf) return;
    socket.on("data", (chunk) => {
      const texts = (begun + chunk.toString("latin1")).split("\n");
      begun = texts.pop() ?? "";
      lines.push(...texts);
      if (!isSlow) return;
      socket.pause();
      setTimeout(() => socket.resume(), SLOW_PAUSE_MS);
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    lines,
    largestBytes: () => 0,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Returns the value of a statistic in StatsD lines: the sum of a counter, the last value of a gauge,
 * the number of a timer's durations.
 */
export function valueInLines(lines: readonly string[], name: string): number | undefined {
  const found = lines.flatMap((line) => {
    const match = /^(.*?):([^|]*)\|(c|g|ms)(?:\|#.*)?$/.exec(line);
    return match?.[1] === name ? [{ value: Number(match[2]), kind: match[3] }] : [];
  });
  switch (found[0]?.kind) {
    case "c":
      return found.reduce((sum, { value }) => sum + value, 0);
    case "g":
      return found.at(-1)?.value;
    case "ms":
      return found.length;
    default:
      return undefined;
  }
}
