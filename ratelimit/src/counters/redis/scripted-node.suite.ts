// A server that answers what a test specifies, for what real ones do only by chance:
// it speaks the wire protocol, and notes every command.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Reply } from "./connection/reply.ts";
import { ReplyParser } from "./connection/reply-parser.ts";

/** An answer as it goes over the wire; undefined says nothing, "end" closes the connection. */
export type Answer = string | undefined;

/** Closes the connection instead of answering. */
export const END = "end";

/** Answers to a command of these words. */
export type Script = (words: readonly string[], node: ScriptedNode) => Answer;

/** A node under the control of a test. */
export class ScriptedNode {
  /** Every command but PING, as words, in order of arrival. */
  readonly commands: string[] = [];
  /** Answers commands other than PING; changed at will. */
  script: Script;
  port = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(script: Script) {
    this.script = script;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get url(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Begins to listen. */
  async open(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The node has no port");
    this.port = address.port;
    return this;
  }

  /** Ends it with all connections. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** How many commands began with that word. */
  count(word: string): number {
    return this.commands.filter((command) => command.startsWith(word)).length;
  }

  #accept(socket: Socket): void {
    // A command is a list of texts, as some replies are.
    const parser = new ReplyParser({
      reply: (words) => this.#answer(socket, (words as readonly Reply[]).map(String)),
      malformed: (reason) => socket.destroy(new Error(reason)),
    });
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => undefined); // The other side ends as it likes.
    socket.on("data", (chunk: Buffer) => parser.parse(chunk, chunk.length));
  }

  #answer(socket: Socket, words: readonly string[]): void {
    const [name = ""] = words;
    if (name.toUpperCase() === "PING") {
      socket.write("+PONG\r\n");
      return;
    }
    this.commands.push([name.toUpperCase(), ...words.slice(1)].join(" "));
    const answer = this.script([name.toUpperCase(), ...words.slice(1)], this);
    if (answer === END) socket.destroy();
    else if (answer !== undefined && !socket.destroyed) socket.write(answer, "latin1");
  }
}

/** A reply to CLUSTER SLOTS by which each node has a part of the slots. */
export function slotsReply(
  ranges: readonly (readonly [first: number, last: number, host: string, port: number])[],
): string {
  const entry = ([first, last, host, port]: (typeof ranges)[number]): string =>
    `*3\r\n:${first}\r\n:${last}\r\n*3\r\n$${host.length}\r\n${host}\r\n:${port}\r\n$2\r\nid\r\n`;
  return `*${ranges.length}\r\n${ranges.map(entry).join("")}`;
}
