// Sends an input to a connection of the server, in memory or over a socket. All that the server sends is
// checked, and its end: it still answers a call, or it has closed the connection.
import { FLAG, FRAME, frame, requestBlock } from "@weir/harness/http2/http2-frames";
import type { Random } from "@weir/harness/processes/random";

import type { ReceivedFrame } from "../connection/received-frames.suite.ts";
import { Exchange } from "./exchange.suite.ts";

const MAX_STREAM_ID = 0x7fff_ffff;

/** A call that needs no entry of a table, and whose answer needs no window. */
const UNKNOWN_CALL = requestBlock("/fuzz.Service/Unknown");
const UNIMPLEMENTED = "grpc 12";
const REFUSED_STREAM = "reset 7";

/** A connection to the server. */
export interface FuzzedConnection {
  /** Receives what the server sends. */
  onFrames: (frames: readonly ReceivedFrame[]) => void;
  readonly isOpen: boolean;
  readonly isHttp1: boolean;
  /** True if the server may refuse further streams. */
  readonly isFull: boolean;
  /** True if what the server has sent is received even when it closes. */
  readonly isLossless: boolean;
  send(bytes: Buffer): void;
  /** Waits until the server has answered what was sent, as far as it can be known. */
  settle(isDone: () => boolean): void | Promise<void>;
  /** Waits for the server to close a connection whose client does not begin; throws when it does not. */
  expire(): void | Promise<void>;
  close(): void;
}

/**
 * How an input ended: the connection still answers, it was closed for a fault, gracefully, after
 * HTTP/1 or for want of a preface, or the client closed it in the middle.
 */
export type FuzzEnd = "answers" | "goaway" | "draining" | "http1" | "silent" | "closed";

/** Sends the input in pieces; throws when something is wrong with the answers. */
export async function runInput(input: Buffer, connection: FuzzedConnection, random: Random): Promise<FuzzEnd> {
  const exchange = new Exchange();
  connection.onFrames = (frames) => exchange.serverSends(frames);
  const send = (bytes: Buffer): void => {
    if (!connection.isOpen || bytes.length === 0) return;
    exchange.clientSends(bytes);
    connection.send(bytes);
  };
  for (let at = 0; at < input.length && connection.isOpen;) {
    const length = random.oneIn(3) ? input.length - at : random.between(1, random.oneIn(2) ? 20 : 300);
    send(input.subarray(at, at + length));
    at += length;
  }
  const end = random.oneIn(30) ? "closed" : await finish(connection, exchange, send);
  connection.close();
  return end;
}

/** Completes what was sent, and shows that the connection answers or is closed. */
async function finish(
  connection: FuzzedConnection,
  exchange: Exchange,
  send: (bytes: Buffer) => void,
): Promise<FuzzEnd> {
  await connection.settle(() => true);
  // Twice, because a preface lacks SETTINGS after it.
  for (let times = 0; times < 2 && connection.isOpen; times++) send(exchange.completion());
  await connection.settle(() => exchange.received > 0);
  if (connection.isOpen && exchange.received === 0) {
    await connection.expire();
    return "silent";
  }
  const id = exchange.lastId + (exchange.lastId % 2 === 0 ? 1 : 2);
  const { isFull } = connection;
  if (id <= MAX_STREAM_ID) send(frame(FRAME.HEADERS, FLAG.END_STREAM | FLAG.END_HEADERS, id, UNKNOWN_CALL));
  send(frame(FRAME.PING, 0, 0, Buffer.from("liveness")));
  const isAnswered = (): boolean => id > MAX_STREAM_ID || exchange.goaway === 0 || exchange.ends.has(id);
  await connection.settle(() => exchange.pongs === exchange.pings && isAnswered());
  if (!connection.isOpen) {
    if (connection.isHttp1) return "http1";
    if (exchange.goaway === undefined && connection.isLossless) throw new Error("It closes without GOAWAY");
    return exchange.goaway === 0 ? "draining" : "goaway";
  }
  if (exchange.pongs !== exchange.pings) throw new Error("The last PING is not acknowledged");
  if (exchange.goaway === 0) return "draining";
  const end = exchange.ends.get(id);
  if (id <= MAX_STREAM_ID && end !== UNIMPLEMENTED && !(isFull && end === REFUSED_STREAM))
    throw new Error(`The last call is answered with ${end}`);
  return "answers";
}
