// Sends commands to a Redis server in one write and reads the replies: strings, integers and flat
// arrays of strings, which is all that a comparison of counters needs.
import { once } from "node:events";
import { connect } from "node:net";
import { HOST } from "@weir/harness/servers/store-server";

/** Longest wait for a part of the replies, in milliseconds. */
const REPLY_TIMEOUT_MS = 20_000;

/** A reply; null for a key that does not exist. */
export type Reply = string | number | null | readonly Reply[];

/** Sends `commands` and resolves with their replies. Rejects for the first error reply. */
export async function readReplies(port: number, commands: readonly (readonly string[])[]): Promise<readonly Reply[]> {
  const socket = connect({ host: HOST, port });
  const words = commands.map((command) => {
    const parts = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    return `*${command.length}\r\n${parts.join("")}`;
  });
  socket.write(words.join(""));
  try {
    let bytes = Buffer.alloc(0);
    for (;;) {
      const replies = parseReplies(bytes, commands.length);
      if (replies !== undefined) return replies;
      const [chunk] = (await once(socket, "data", { signal: AbortSignal.timeout(REPLY_TIMEOUT_MS) })) as [Buffer];
      bytes = Buffer.concat([bytes, chunk]);
    }
  } finally {
    socket.destroy();
  }
}

/** The first `count` replies in `bytes`; undefined while there are fewer. Throws for an error reply. */
export function parseReplies(bytes: Buffer, count: number): readonly Reply[] | undefined {
  let at = 0;
  const readOne = (): Reply | undefined => {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const line = bytes.toString("utf8", at, end);
    const rest = line.slice(1);
    at = end + 2;
    if (line.startsWith("+")) return rest;
    if (line.startsWith(":")) return Number(rest);
    if (line.startsWith("$")) return readText(Number(rest));
    if (line.startsWith("*")) return readMany(Number(rest));
    throw new Error(`Cannot read the counters of Redis: ${line}`);
  };
  const readText = (length: number): Reply | undefined => {
    if (length < 0) return null;
    if (bytes.length < at + length + 2) return undefined;
    const text = bytes.toString("utf8", at, at + length);
    at += length + 2;
    return text;
  };
  const readMany = (length: number): readonly Reply[] | undefined => {
    const replies: Reply[] = [];
    while (replies.length < length) {
      const reply = readOne();
      if (reply === undefined) return undefined;
      replies.push(reply);
    }
    return replies;
  };
  return readMany(count);
}
